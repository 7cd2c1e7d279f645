#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same training by PyTorch, in float64 and in float32.

From the parameters in FILE (safetensors), the images in FOLDER (MNIST's files) in their order, at a constant rate:
Adam, as in tests/library/losses.c. Reads what that program prints, and prints TAP: each of the first losses within
1e-4 of float64's, relative, or within ten times what float32 is off at most, whichever is larger; the final accuracy
within 0.3 points of float64's.

    torch_losses.py FOLDER FILE BATCH RATE <losses
"""
import glob
import gzip
import json
import os
import struct
import sys

import torch
import torch.nn.functional as F

LOSSES = 20


def idx(folder, name):
    (path,) = glob.glob(os.path.join(glob.escape(folder), name + "*"))
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


class Network:
    """Parameters of ours: convolutions are [height, width, in, out], PyTorch's [out, in, height, width]; rows of features are ours."""

    def __init__(self, start, dtype):
        self.dtype = dtype
        self.weights = {}
        for n in ("conv1", "conv2", "dense1", "dense2"):
            w = start[n + "/weights"].to(dtype)
            self.weights[n] = w.permute(3, 2, 0, 1).contiguous() if n.startswith("conv") else w.clone()
            self.weights[n + "/bias"] = start[n + "/bias"].to(dtype)
        for w in self.weights.values():
            w.requires_grad_()

    def logits(self, images):
        w = self.weights
        x = (images.to(self.dtype) - 33.3184) / 78.5675
        x = F.max_pool2d(F.relu(F.conv2d(x[:, None], w["conv1"], w["conv1/bias"])), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, w["conv2"], w["conv2/bias"])), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)
        x = F.relu(x @ w["dense1"] + w["dense1/bias"])
        return x @ w["dense2"] + w["dense2/bias"]

    def train(self, images, labels, steps, batch, rate):
        optimiser = torch.optim.Adam(self.weights.values(), lr=rate)
        epoch = (len(images) + batch - 1) // batch
        losses = []
        for s in range(steps):
            part = slice(s % epoch * batch, (s % epoch + 1) * batch)
            loss = F.cross_entropy(self.logits(images[part]), labels[part].long())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        return losses

    def right(self, images, labels):
        with torch.no_grad():
            return sum((self.logits(x).argmax(1) == y).sum().item() for x, y in zip(images.split(1000), labels.split(1000)))


def main():
    folder, start, batch, rate = sys.argv[1], safetensors(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    images, labels = idx(folder, "train-images"), idx(folder, "train-labels")
    test, answers = idx(folder, "t10k-images"), idx(folder, "t10k-labels")
    *ours, right = (float(line) for line in sys.stdin)
    network = Network(start, torch.float64)
    exact = network.train(images, labels, len(ours), batch, rate)
    single = Network(start, torch.float32).train(images, labels, LOSSES, batch, rate)
    off = max(abs(s - e) / e for s, e in zip(single, exact))
    bound = max(1e-4, 10 * off)
    print("TAP version 13")
    print(f"1..{LOSSES + 1}")
    print(f"# PyTorch {torch.__version__}: its float32 is off by {off:.2g} at most, so the bound is {bound:.2g}")
    for i, (o, e) in enumerate(zip(ours[:LOSSES], exact)):
        error = abs(o - e) / e
        print(f"{'ok' if error <= bound else 'not ok'} {i + 1} - step {i + 1}: {o:.7f}, float64 {e:.7f}, off by {error:.2g}")
    theirs = network.right(test, answers)
    close = abs(right - theirs) * 100 <= 0.3 * len(test)
    print(f"{'ok' if close else 'not ok'} {LOSSES + 1} - after {len(ours)} steps {right:.0f} of {len(test)} test images "
          f"are right, {theirs} with float64: within 0.3 points")


main()
