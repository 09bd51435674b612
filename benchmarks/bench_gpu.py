"""Exact and Nyström fits on a device, compared with plain torch in double precision.

Run with ``python -m benchmarks.bench_gpu`` on a machine with a GPU; it takes a few minutes and
starts no fit after eight. Each row of the table is a fit through the public estimator, with arrays
of NumPy in and out and transfers included: the better of two after a warm-up. `peer` is what a user
of torch would write in double precision: the kernel matrix, ``torch.linalg.cholesky`` and
``cholesky_solve``. If GPyTorch is installed, its posterior mean for the same kernel, which is
another way to write kernel ridge regression without parity, is timed as well.

``--device torch:cpu`` runs the same code at small sizes without a GPU, to see that it works, and
``--device cpu`` compares the precisions "float64" and "mixed" of NumPy's fit.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meanparity import ParityKernelRegressor, ParityKernelRidge, ParityKernelRidgeCV
from meanparity.linalg.device import Device, resolve_device
from meanparity.metrics import max_mean_gap
from meanparity.solvers import Dense, Newton, Nystrom

GAMMA, COLUMNS, LIMIT = 0.05, 20, 540.0  # the limit is in seconds


class Case(NamedTuple):
    """An exact fit, and the seconds that it should take on one H200."""

    n: int
    alpha: float
    precision: str
    wanted: float | None = None


GPU = [
    Case(30_000, 1.0, "mixed", 0.3),
    Case(50_000, 1.0, "mixed", 0.8),
    Case(50_000, 0.01, "mixed", 1.2),
    Case(50_000, 1.0, "float64", 1.4),
    Case(100_000, 1.0, "mixed", 3.2),
    Case(100_000, 1.0, "float64", 8.5),
    Case(170_000, 1.0, "mixed", 16.0),
]
SMALL = [
    Case(500, 1.0, "mixed"),
    Case(500, 1.0, "float64"),
    Case(1500, 1.0, "mixed"),
    Case(1500, 0.01, "mixed"),
    Case(1500, 1.0, "float64"),
]
CPU = [Case(8_000, 1.0, "float64"), Case(8_000, 1.0, "mixed")]
CPU += [Case(12_000, 1.0, "float64"), Case(12_000, 1.0, "mixed")]


def table(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows in 20 columns, a target with noise, and four groups."""
    rng = np.random.default_rng(seed)
    X, s = rng.standard_normal((n, COLUMNS)), np.arange(n) % 4
    return X, np.sin(X[:, 0]) + 0.5 * (s == 1) + 0.3 * rng.standard_normal(n), s


def seconds(function: Callable[[], Any], repeats: int = 2) -> tuple[float, Any]:
    """The least time of a few runs, and the result of the last."""
    best, found = np.inf, None
    for _ in range(repeats):
        found = None
        start = time.perf_counter()
        found = function()
        best = min(best, time.perf_counter() - start)
    return best, found


def free(device: Device | None) -> None:
    gc.collect()
    if device is not None and device.is_cuda:
        device.torch.cuda.empty_cache()
        device.torch.cuda.reset_peak_memory_stats(device.place)


def peer(device: Device, X: Any, y: Any, s: Any, alpha: float) -> Any:
    """Kernel ridge regression in plain torch: matrix, Cholesky, solutions for [y, groups]."""
    torch = device.torch
    rows = device.upload(X)
    squares = (rows**2).sum(dim=1)
    K = torch.exp(-GAMMA * (squares[:, None] + squares - 2 * rows @ rows.T).clamp_(min=0))
    K.diagonal().add_(alpha)
    right = device.upload(np.column_stack([y, *(s == group for group in range(4))]))
    return torch.cholesky_solve(right, torch.linalg.cholesky(K)).cpu().numpy()


def peer_seconds(device: Device | None, case: Case, data: Any) -> str:
    if device is None:
        return ""
    try:
        took, _ = seconds(lambda: peer(device, *data, case.alpha))
    except RuntimeError as error:  # of which torch's error for too little memory is a kind
        if "memory" not in str(error):
            raise
        return "no memory"
    return f"{took:.2f}"


def exact(device: Device | None, name: str, cases: list[Case], start: float) -> None:
    print("\nExact fits: RBF kernel, 20 columns, 4 groups")
    head = ("rows", "alpha", "precision", "seconds", "wanted", "peer", "factor", "steps")
    tail = ("residual", "gap / sd", "GiB", "of 8n²")
    print("".join(f"{word:>11}" for word in (*head, *tail)), flush=True)
    peers: dict[int, str] = {}
    for case in cases:
        if time.perf_counter() - start > LIMIT - 60:
            print(f"{case.n:>11,}  left out: no time is left")
            continue
        X, y, s = data = table(case.n)
        free(device)
        model = ParityKernelRidge(
            kernel="rbf",
            gamma=GAMMA,
            alpha=case.alpha,
            fit_intercept=True,
            solver=Dense(device=name, precision=case.precision),
        )
        try:
            took, _ = seconds(lambda m=model, d=data: m.fit(d[0], d[1], sensitive_features=d[2]))
        except MemoryError as error:
            print(f"{case.n:>11,}  refused: {error}")
            continue
        info = model.solver_info_
        used = float(info.matrix_bytes)
        if device is not None and device.is_cuda:
            used = float(device.torch.cuda.max_memory_allocated(device.place))
        some = np.arange(0, case.n, max(case.n // 20_000, 1))
        whole = case.n <= 20_000
        gap = model.parity_residual_ / y.std()
        if whole:  # of real predictions
            gap = max_mean_gap(None, model.predict(X[some]), sensitive_features=s[some]) / y.std()
        free(device)
        if case.n not in peers:
            peers[case.n] = peer_seconds(device, case, data)
        row = (
            f"{case.n:,}",
            f"{case.alpha:g}",
            case.precision,
            f"{took:.2f}",
            "" if case.wanted is None else f"{case.wanted:g}",
            peers[case.n],
            info.precision,
            info.steps,
            "" if info.system_residual is None else f"{info.system_residual:.0e}",
            f"{gap:.0e}",
            f"{used / 2**30:.2f}",
            f"{used / (8 * case.n**2):.2f}",
        )
        print("".join(f"{word:>11}" for word in row), flush=True)


def agreement(name: str, n: int) -> None:
    """How far predictions are from those of the CPU."""
    X, y, s = table(n)
    X_new = table(2000, 1)[0]
    models = [
        ParityKernelRidge(kernel="rbf", gamma=GAMMA, fit_intercept=True, solver=solver)
        for solver in (Dense(), Dense(device=name), Dense(device=name, precision="mixed"))
    ]
    on_cpu, double, mixed = (m.fit(X, y, sensitive_features=s).predict(X_new) for m in models)
    for precision, found in (("float64", double), ("mixed", mixed)):
        most = np.abs(found - on_cpu).max()
        print(f"Predictions, {n:,} rows, {precision}: at most {most:.1e} from those of the CPU")


def gpytorch(device: Device, n: int, alpha: float = 1.0) -> None:
    """Time and residual of GPyTorch's coefficients of the posterior mean, at two accuracies."""
    try:
        library: Any = importlib.import_module("gpytorch")
    except ImportError:
        print("GPyTorch is not installed")
        return
    torch = device.torch
    X, y, _ = table(n)

    class Process(library.models.ExactGP):  # type: ignore[misc]
        def __init__(self, X: Any, y: Any, likelihood: Any) -> None:
            super().__init__(X, y, likelihood)
            self.mean = library.means.ZeroMean()
            self.kernel = library.kernels.RBFKernel()

        def forward(self, X: Any) -> Any:
            return library.distributions.MultivariateNormal(self.mean(X), self.kernel(X))

    def coefficients(kind: Any) -> Any:
        rows, targets = (torch.as_tensor(a).to(device.place, kind) for a in (X, y))
        likelihood = library.likelihoods.GaussianLikelihood().to(device.place, kind)
        likelihood.noise = alpha
        model = Process(rows, targets, likelihood).to(device.place, kind).eval()
        model.kernel.lengthscale = (0.5 / GAMMA) ** 0.5
        with torch.no_grad(), library.settings.skip_posterior_variances():
            float(model(rows[:1]).mean[0])
        return model.prediction_strategy.mean_cache.double()

    def residual(found: Any) -> float:
        left = device.upload(y) - alpha * found
        rows = device.upload(X)
        squares = (rows**2).sum(dim=1)
        for start in range(0, n, 4096):
            part = slice(start, start + 4096)
            inner = squares[part, None] + squares - 2 * rows[part] @ rows.T
            left[part] -= torch.exp(-GAMMA * inner.clamp_(min=0)) @ found
        return float(left.norm()) / float(np.linalg.norm(y))

    for kind, tolerance in ((torch.float32, None), (torch.float64, 1e-10)):
        wanted = library.settings.eval_cg_tolerance(
            library.settings.eval_cg_tolerance.value() if tolerance is None else tolerance
        )
        with wanted, library.settings.max_cg_iterations(1000):
            took, found = seconds(lambda kind=kind: coefficients(kind))
        how = "its own tolerance" if tolerance is None else f"tolerance {tolerance:g}"
        print(
            f"GPyTorch {library.__version__}, {n:,} rows, {str(kind)[6:]}, {how}: {took:.2f} s, "
            f"residual {residual(found):.0e}",
            flush=True,
        )


def losses(device: Device, name: str, n: int, with_cpu: bool) -> None:
    """Newton's steps for counts; on the CPU as well, if that does not take too long."""
    X, y, s = table(n)
    counts = np.random.default_rng(2).poisson(np.exp(y / 2))
    for place in [name, "cpu"] if with_cpu else [name]:
        free(device)
        model = ParityKernelRegressor(
            kernel="rbf", gamma=GAMMA, alpha=1.0, loss="poisson", solver=Newton(device=place)
        )
        took, _ = seconds(lambda m=model: m.fit(X, counts, sensitive_features=s), 1)
        steps = "+".join(str(len(run["objective"]) - 1) for run in model.history_.values())
        print(f"Poisson, {n:,} rows, on {place}: {took:.2f} s, {steps} steps", flush=True)


def from_files(name: str, n: int, m: int) -> None:
    """Nyström sums of rows that are read from a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        X, y, s = table(n)
        columns = {f"x{i}": X[:, i] for i in range(COLUMNS)}
        pq.write_table(pa.table({**columns, "y": y, "s": s}), path)
        size = path.stat().st_size
        del columns
        solver = Nystrom(landmarks=X[:m].copy(), device=name)
        del X, y
        model = ParityKernelRidge(kernel="rbf", gamma=GAMMA, fit_intercept=True, solver=solver)
        took, _ = seconds(lambda: model.fit(path, "y", sensitive_features="s"), 1)
        print(
            f"Nyström, {n:,} rows of a Parquet file of {size / 2**30:.2f} GiB, {m:,} landmarks: "
            f"{took:.1f} s",
            flush=True,
        )


def nystrom(device: Device, name: str, n: int, m: int) -> None:
    """Sums over rows that do not fit on the device, and the rate of their products."""
    X, y, s = table(n)
    model = ParityKernelRidge(
        kernel="rbf", gamma=GAMMA, fit_intercept=True, solver=Nystrom(landmarks=X[:m], device=name)
    )
    few = slice(0, max(n // 100, 2 * m))
    model.fit(X[few], y[few], sensitive_features=s[few])
    took, _ = seconds(lambda: model.fit(X, y, sensitive_features=s), 1)
    operations = 4.0 * n * m**2  # two products: whitening, and the Gram matrix of the features
    torch, size = device.torch, 8192 if device.is_cuda else 512
    rates = {}
    for kind in (torch.float32, torch.float64):
        A = torch.randn(size, size, dtype=kind, device=device.place)
        float((A @ A)[0, 0])
        times = []
        for _ in range(5):
            start = time.perf_counter()
            float((A @ A)[0, 0])
            times.append(time.perf_counter() - start)
        rates[kind] = 2 * size**3 / min(times)
    rate = operations / took
    print(
        f"Nyström, {n:,} rows, {m:,} landmarks: {took:.1f} s, {rate / 1e12:.2f} TFLOP/s, "
        f"{100 * rate / rates[torch.float32]:.0f}% of the device's float32 products and "
        f"{100 * rate / rates[torch.float64]:.0f}% of its float64 products; gap "
        f"{model.parity_residual_ / y.std():.0e} of the standard deviation",
        flush=True,
    )


def predictions(name: str, n: int, rows: int) -> None:
    X, y, s = table(n)
    model = ParityKernelRidge(kernel="rbf", gamma=GAMMA, solver=Dense(device=name))
    model.fit(X, y, sensitive_features=s)
    X_new = table(rows, 1)[0]
    took, _ = seconds(lambda: model.predict(X_new))
    print(f"Predictions for {rows:,} rows by a fit to {n:,}: {took:.2f} s", flush=True)


def choosing(name: str, n: int) -> None:
    X, y, s = table(n)
    for place in (name, "cpu"):
        model = ParityKernelRidgeCV(kernel="rbf", gammas=GAMMA, solver=Dense(device=place))
        took, _ = seconds(lambda m=model: m.fit(X, y, sensitive_features=s), 1)
        print(f"Leave-one-out, {n:,} rows, on {place}: {took:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto", help="cuda, cuda:1, torch:cpu, cpu or auto")
    name = parser.parse_args().device
    device, start = resolve_device(name), time.perf_counter()
    if device is None:
        print("On the CPU: one fit in double precision, and one with a factor in single precision")
        exact(None, "cpu", CPU, start)
        return
    torch, cuda = device.torch, device.is_cuda
    what = torch.cuda.get_device_name(device.place) if cuda else "the CPU"
    print(f"torch {torch.__version__} on {what}")
    X, y, s = table(2000)
    for precision in ("float64", "mixed"):  # modules are loaded, and libraries start
        model = ParityKernelRidge(kernel="rbf", solver=Dense(device=name, precision=precision))
        model.fit(X, y, sensitive_features=s)
    agreement(name, 8000 if cuda else 1000)
    exact(device, name, GPU if cuda else SMALL, start)
    free(device)
    for n in (30_000, 50_000) if cuda else (1000,):
        gpytorch(device, n)
        free(device)
    losses(device, name, 8000 if cuda else 300, with_cpu=True)
    if cuda:
        losses(device, name, 50_000, with_cpu=False)
    free(device)
    nystrom(device, name, *((10_000_000, 4096) if cuda else (20_000, 128)))
    free(device)
    from_files(name, *((10_000_000, 4096) if cuda else (20_000, 128)))
    free(device)
    predictions(name, *((50_000, 1_000_000) if cuda else (1000, 5000)))
    free(device)
    choosing(name, 10_000 if cuda else 400)
    print(f"{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
