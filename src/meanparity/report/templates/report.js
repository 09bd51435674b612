"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const slider = byId("unfairness");
  const SVG = "http://www.w3.org/2000/svg";

  let zero = 0; // smaller numbers are rounding errors and shown as 0
  const number = (value) => {
    const size = Math.abs(value);
    if (size <= zero) return "0";
    if (size >= 9999.5) return Math.round(value).toLocaleString("en-US");
    return String(Number(value.toPrecision(4)));
  };
  // both ends with the same decimals, which show three digits of their distance
  const interval = (low, high) => {
    let ends = [low, high].map((end) => Math.abs(end) <= zero ? 0 : end);
    const [width, size] = [ends[1] - ends[0], Math.max(...ends.map(Math.abs))];
    if (!(width > 1e-12 * size)) return `${number(low)} to ${number(high)}`;
    const exponent = size < 1e-4 ? Math.floor(Math.log10(size)) : 0;
    ends = ends.map((end) => end / 10 ** exponent);
    const least = 2 - Math.floor(Math.log10(width / 10 ** exponent));
    const needed = Math.max(...ends.filter((end) => end).map((end) => -Math.floor(Math.log10(Math.abs(end)))));
    const decimals = Math.max(least, Math.min(needed, least + 3), 0);
    const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals, useGrouping: size >= 9999.5, signDisplay: "negative" };
    return ends.map((end) => end.toLocaleString("en-US", options) + (exponent ? `e${exponent}` : "")).join(" to ");
  };
  const known = (value, text) => value === null ? "not shown" : text;
  // whole percentages that add up to 100
  const percentages = (shares) => {
    const parts = shares.map((share) => Math.floor(100 * share + 1e-9));
    const order = shares.map((share, i) => [100 * share - parts[i], i]).sort((a, b) => b[0] - a[0]);
    const missing = 100 - parts.reduce((a, b) => a + b, 0);
    order.slice(0, Math.max(missing, 0)).forEach(([, i]) => { parts[i] += 1; });
    return parts.map((part) => part + "%");
  };
  // a model is a sum of columns; `at` is a position of the slider, or `own` for the model of the page
  const own = data.weights.length - 1;
  const unconstrained = own - 1;
  const single = own === 1;
  const mix = (columns, i, at) => data.weights[at].reduce((sum, weight, c) => sum + weight * columns[c][i], 0);
  const squaredError = (part, at) => part.errors && data.weights[at].reduce(
    (sum, weight, c) => sum + weight * mix(part.errors, c, at), 0);
  const nouns = { mean: "largest gap", covariance: "largest difference per standard deviation", condition: "largest deviation" };
  const main = (part) => Object.keys(nouns).find((kind) => part.gap_kinds.includes(kind)) || "mean";
  // gaps of one kind, and what they are about
  const gaps = (part, at, kind) => part.gap_labels.flatMap((label, i) =>
    part.gap_kinds[i] === kind ? [[Math.abs(mix(part.gaps, i, at)), label]] : []);
  const widest = (part, at, kind = main(part)) => gaps(part, at, kind).reduce(
    (a, b) => b[0] > a[0] ? b : a, [0, ""]);
  // the size of the gaps that belongs to the positions of the slider
  const sizes = {
    gap: (part, at) => widest(part, at)[0],
    smd: (part, at) => gaps(part, at, main(part)).reduce((a, b) => a + b[0], 0),
    norm: (part, at) => Math.hypot(...gaps(part, at, main(part)).map((gap) => gap[0])),
  };
  const size = sizes[data.budget];
  const gapNames = { mean: "gaps", covariance: "differences per standard deviation", condition: "deviations" };
  const sizeName = (part) => main(part) === "mean" ? data.size : {
    gap: nouns[main(part)], smd: `sum of ${gapNames[main(part)]}`, norm: `root of the sum of squared ${gapNames[main(part)]}`,
  }[data.budget];

  const draw = (parent, name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };

  const isNarrow = () => window.innerWidth <= 640;

  const drawTradeoff = (part, u) => {
    const svg = byId("tradeoff");
    svg.replaceChildren();
    const shown = part.errors && !single;
    svg.closest("figure").hidden = !shown;
    svg.closest(".charts").classList.toggle("alone", !shown);
    if (!shown) return;
    const [width, height, bottom] = [420, 300, 44];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const points = data.weights.map((_, at) => [size(part, at), squaredError(part, at)]);
    const [xs, ys] = [0, 1].map((k) => points.map((p) => p[k]));
    points.pop(); // the model of the page need not be on the line
    const top = Math.max(...xs) || 1;
    const [low, high] = [Math.min(...ys), Math.max(...ys)];
    const digits = Math.max(number(low).length, number(high).length);
    const left = Math.max(84, 14 + digits * (isNarrow() ? 8.5 : 7));
    const span = high - low || Math.abs(high) || 1;
    const x = (v) => left + (width - left - 14) * v / top;
    const y = (v) => height - bottom - (height - bottom - 16) * (v - low + 0.05 * span) / (1.1 * span);
    draw(svg, "path", { class: "axis", d: `M${left},8V${height - bottom}H${width - 6}` });
    draw(svg, "text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle", class: "quiet" }, sizeName(part));
    draw(svg, "text", { x: left + 8, y: 14, class: "quiet" }, "mean squared error");
    for (const v of [0, top / 2, top]) {
      const anchor = v === top ? "end" : "middle";
      draw(svg, "text", { x: v === top ? width - 6 : x(v), y: height - bottom + 16, "text-anchor": anchor }, number(v));
    }
    for (const v of [low, high]) draw(svg, "text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, number(v));
    if (points.length > 2) draw(svg, "polyline", { class: "curve", points: points.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") });
    for (const [a, b] of [points[0], points[unconstrained]]) draw(svg, "circle", { class: "end", cx: x(a), cy: y(b), r: 5 });
    draw(svg, "circle", { class: "here", cx: x(size(part, u)), cy: y(squaredError(part, u)), r: 7 });
  };

  // a name in lines of at most 21 letters, of which at most five are shown
  const wrapped = (name) => {
    const words = name.split(" ").flatMap((word) => word.match(/.{1,21}/gsu) || []);
    const lines = words.reduce((found, word) => {
      const last = found[found.length - 1];
      if (last && last.length + word.length < 21) return [...found.slice(0, -1), `${last} ${word}`];
      return [...found, word];
    }, []);
    return lines.length > 5 ? [...lines.slice(0, 4), lines[4].slice(0, 20) + "…"] : lines;
  };

  const drawDistributions = (part, u) => {
    const svg = byId("distributions");
    svg.replaceChildren();
    const k = part.groups.length;
    const names = part.groups.map((name) => wrapped(name));
    const lines = Math.max(...names.map((name) => name.length));
    const row = Math.max(k > 12 ? 26 : k > 4 ? 52 : 84, 10 + 15 * lines);
    const [width, left, head] = isNarrow() ? [380, 160, 8] : [640, 170, 8];
    const height = head + k * row + 30;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [low, high] = part.range;
    const x = (v) => left + (width - left - 20) * (v - low) / (high - low);
    const tallest = Math.max(...part.bars.map((bars) => Math.max(...bars.map((b) => Math.max(...b)))));
    const means = part.groups.map((_, i) => mix(part.predicted.means, i, u));
    part.groups.forEach((name, i) => {
      const base = head + (i + 1) * row - 4;
      const y = base - row / 3 - 15 * (names[i].length - 1) / 2;
      const label = draw(svg, "text", { y, "text-anchor": "end" });
      names[i].forEach((line, at) => draw(label, "tspan", { x: left - 10, dy: at ? 15 : 0 }, line));
      draw(label, "title", {}, name);
      let path = `M${x(low)},${base}`;
      part.bars[u][i].forEach((share, bar) => {
        const y = base - (row - 8) * share / tallest;
        path += `V${y}H${x(low + (high - low) * (bar + 1) / data.bins)}`;
      });
      draw(svg, "path", { class: "bars", d: path + `V${base}Z` });
      draw(svg, "path", { class: "axis", d: `M${left},${base}H${width - 20}` });
      draw(svg, "line", { class: "mean", x1: x(means[i]), x2: x(means[i]), y1: base - row + 8, y2: base });
      const all = x(mix(part.predicted.strata, part.stratum[i], u));
      draw(svg, "line", { class: "overall", x1: all, x2: all, y1: base - row + 4, y2: base + 4 });
    });
    for (const v of [low, (low + high) / 2, high]) {
      draw(svg, "text", { x: x(v), y: height - 8, "text-anchor": v === high ? "end" : v === low ? "start" : "middle" }, number(v));
    }
  };

  const fillTable = (part, u) => {
    const body = document.querySelector("#live tbody");
    const { means, strata } = part.compared;
    const mean = part.groups.map((_, i) => mix(means, i, u));
    body.replaceChildren(...part.groups.map((name, i) => {
      const change = part.change[u][i];
      const cells = [part.counts[i].toLocaleString("en-US"), number(mean[i]), number(mean[i] - mix(strata, part.stratum[i], u)),
        number(mix(part.predicted.means, i, u) - mix(part.predicted.means, i, unconstrained)), known(change.low, interval(change.low, change.high))];
      const shares = change.up === null || change.down === null ? [] :
        percentages([change.up, change.down, Math.max(0, 1 - change.up - change.down)]);
      cells.push(...[0, 1, 2].map((j) => known(shares.length ? 1 : null, shares[j])));
      if (single) cells.splice(3);
      const line = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = name;
      line.append(head, ...cells.map((text) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        return cell;
      }));
      return line;
    }));
  };

  let atModel = true; // the position of the model may lie between two steps of the slider
  const show = () => {
    const chosen = document.querySelector("input[name=part]:checked");
    const part = data.parts[chosen ? Number(chosen.value) : 0];
    zero = part.zero;
    const u = atModel ? own : Number(slider.value);
    const label = data.labels[u];
    byId("position").textContent = label;
    byId("reset").hidden = atModel;
    slider.setAttribute("aria-valuetext", `${label}, ${sizeName(part)} ${number(size(part, u))}`);
    byId("mse").textContent = part.errors ? number(squaredError(part, u)) : "unknown";
    byId("r2").textContent = part.errors && part.variance > 0
      ? number(1 - squaredError(part, u) / part.variance) : "unknown";
    byId("rmse").textContent = part.errors ? number(Math.sqrt(squaredError(part, u))) : "unknown";
    for (const [id, kind] of [["max-gap", "mean"], ["max-covariance", "covariance"], ["max-condition", "condition"]]) {
      const [size, where] = widest(part, u, kind);
      byId(id).parentElement.hidden = !part.gap_kinds.includes(kind);
      byId(id).textContent = number(size);
      byId(id + "-where").textContent = size > zero ? where : "";
    }
    const several = gapNames[main(part)] + (main(part) === "mean" ? " between groups" : "");
    byId("tradeoff-kind").textContent = {
      gap: nouns[main(part)] + (main(part) === "mean" ? " between groups" : ""),
      smd: `sum of the ${several}`, norm: `root of the sum of the squared ${several}`,
    }[data.budget];
    byId("tradeoff").setAttribute("aria-label", `Mean squared error against the ${sizeName(part)}, with the position of the slider`);
    byId("gap").textContent = part.gap;
    byId("live-mean").textContent = `Mean ${part.quantity}`;
    byId("smd").parentElement.hidden = data.budget !== "smd" && main(part) !== "mean";
    byId("smd-note").hidden = main(part) !== "mean";
    byId("smd-what").textContent = `Sum of the ${several}`;
    byId("smd").textContent = number(sizes.smd(part, u));
    byId("norm").parentElement.hidden = data.budget !== "norm";
    byId("norm-what").textContent = `Root of the sum of the squared ${several}`;
    byId("norm").textContent = number(sizes.norm(part, u));
    for (const figure of document.querySelectorAll(".figures dd:not(.where)")) {
      figure.classList.toggle("long", figure.textContent.length > 9);
    }
    drawTradeoff(part, u);
    drawDistributions(part, u);
    fillTable(part, u);
  };

  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((part) => { part.open = true; });
  });
  slider.addEventListener("input", () => {
    atModel = false;
    show();
  });
  byId("reset").addEventListener("click", () => {
    atModel = true;
    slider.value = data.start;
    show();
    slider.focus();
  });
  document.querySelectorAll("input[name=part]").forEach((input) => input.addEventListener("change", show));
  show();
})();
