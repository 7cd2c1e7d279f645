#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Losses of the same training by PyTorch, in float64 and in float32.

From the parameters in FILE (safetensors), the first images of MNIST in their order and a constant rate: Adam, as in
tests/library/losses.c. Reads that program's losses and prints TAP: each within 1e-4 of float64's, relative, or within
ten times what float32 is off at most, whichever is larger.

    torch_losses.py IMAGES LABELS FILE BATCH RATE <losses
"""
import gzip
import json
import struct
import sys

import torch
import torch.nn.functional as F


def idx(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        data = f.read()
    dims = data[3]
    shape = struct.unpack(f">{dims}I", data[4 : 4 + 4 * dims])
    return torch.frombuffer(bytearray(data[4 + 4 * dims :]), dtype=torch.uint8).reshape(shape)


def safetensors(path):
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(size))
        data = bytearray(f.read())
    tensors = {}
    for name, t in header.items():
        if name != "__metadata__" and t["dtype"] == "F32":
            begin, end = t["data_offsets"]
            tensors[name] = torch.frombuffer(data[begin:end], dtype=torch.float32).reshape(t["shape"])
    return tensors


def train(start, images, labels, steps, batch, rate, dtype):
    # Our convolutions hold [height, width, in, out], theirs [out, in, height, width]; rows of features are ours.
    names = ["conv1", "conv2", "dense1", "dense2"]
    weights = {}
    for n in names:
        w = start[n + "/weights"].to(dtype)
        weights[n] = w.permute(3, 2, 0, 1).contiguous() if n.startswith("conv") else w.clone()
        weights[n + "/bias"] = start[n + "/bias"].to(dtype)
    for w in weights.values():
        w.requires_grad_()
    optimiser = torch.optim.Adam(weights.values(), lr=rate)
    losses = []
    for s in range(steps):
        x = (images[s * batch : (s + 1) * batch].to(dtype) - 33.3184) / 78.5675
        x = F.max_pool2d(F.relu(F.conv2d(x[:, None], weights["conv1"], weights["conv1/bias"])), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, weights["conv2"], weights["conv2/bias"])), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)
        x = F.relu(x @ weights["dense1"] + weights["dense1/bias"])
        x = x @ weights["dense2"] + weights["dense2/bias"]
        loss = F.cross_entropy(x, labels[s * batch : (s + 1) * batch].long())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def main():
    images, labels, start = idx(sys.argv[1]), idx(sys.argv[2]), safetensors(sys.argv[3])
    batch, rate = int(sys.argv[4]), float(sys.argv[5])
    ours = [float(line) for line in sys.stdin]
    exact = train(start, images, labels, len(ours), batch, rate, torch.float64)
    single = train(start, images, labels, len(ours), batch, rate, torch.float32)
    off = max(abs(s - e) / e for s, e in zip(single, exact))
    bound = max(1e-4, 10 * off)
    print("TAP version 13")
    print(f"1..{len(ours)}")
    print(f"# PyTorch {torch.__version__}: its float32 is off by {off:.2g} at most, so the bound is {bound:.2g}")
    for i, (o, e) in enumerate(zip(ours, exact)):
        error = abs(o - e) / e
        print(f"{'ok' if error <= bound else 'not ok'} {i + 1} - step {i + 1}: {o:.7f}, float64 {e:.7f}, off by {error:.2g}")


main()
