"""Sums over the features of rows on a device; see `meanparity.solvers.sums`."""

from __future__ import annotations

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.kernels.device import DeviceKernel
from meanparity.linalg.device import download
from meanparity.linalg.symmetric import row_blocks
from meanparity.solvers.features import KernelFeatures
from meanparity.solvers.sums import Members


def device_products(
    features: KernelFeatures,
    X: Features,
    left: FloatArray,
    members: Members | None,
    root: FloatArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The products that `sums._products` computes, a few rows at a time on the device.

    The features are in the same precision as there; all sums are in double precision.
    """
    kernel = features.kernel
    assert isinstance(kernel, DeviceKernel)
    device, p, b = kernel.device, features.width, X.shape[0]
    torch, size = device.torch, max(device.block_numbers() // p, 256)
    real = torch.float32 if features.precision(X.dtype) == np.float32 else torch.float64
    factors, W = device.upload(left), device.upload(features.whitening).to(real)
    products = W.new_zeros((len(left), p), dtype=torch.float64)
    in_cells = products.new_zeros((0 if members is None else members[2], p))
    r = 0 if root is None else p
    whitened, gram = products.new_zeros(r), products.new_zeros((r, r))
    roots = None if root is None else device.upload(root)
    for part in row_blocks(b, size):
        rows = X[part].astype(float, copy=False)
        here = slice(0, rows.shape[0])
        psi = kernel.values.block(kernel.values.prepare(rows), here, slice(0, p))
        products += factors[:, part] @ psi
        if members is not None:
            weights = device.upload(members[1][part])
            codes = torch.from_numpy(members[0][part].astype(np.int64)).to(device.place)
            in_cells.index_add_(0, codes, weights[:, None] * psi)
        if roots is not None:
            with device.products("ieee"):
                phi = psi.to(real) @ W
                phi *= roots[part].to(real)[:, None]
                whitened += (roots[part].to(real) @ phi).double()
                gram += (phi.T @ phi).double()
    return download(products), download(in_cells), download(whitened), download(gram)
