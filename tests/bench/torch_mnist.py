#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The peer of the training rows: PyTorch trains the network of samples/mnist.c on this host.

Prints a line for each way of running it: samples a second, precision, layout, batch, threads. Steps are timed one
by one, and the median counts. Images are random bytes: what they show does not matter to dense kernels.

    torch_mnist.py [SECONDS for each way]
"""
import os
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dense1 = nn.Linear(1600, 64)
        self.dense2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.dense1(torch.flatten(x, 1)))
        return self.dense2(x)


def measure(layout, batch, bf16, seconds):
    torch.manual_seed(1)
    net = Net().to(memory_format=layout)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    images = torch.randint(0, 256, (batch, 1, 28, 28), dtype=torch.uint8)
    labels = torch.randint(0, 10, (batch,))
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 6:
        begin = time.perf_counter()
        x = ((images.float() - 33.3184) / 78.5675).contiguous(memory_format=layout)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            out = net(x)
        loss = F.cross_entropy(out.float(), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss.item()
        times.append(time.perf_counter() - begin)
    times = sorted(times[2:])
    return batch / times[len(times) // 2]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4
    print("# PyTorch", torch.__version__, "malloc tuned" if "MALLOC_TOP_PAD_" in os.environ else "out of the box")
    layouts = (("nchw", torch.contiguous_format), ("channels_last", torch.channels_last))
    # One thread first: the pool does not shrink. bf16 is slow where processors have no instructions for it: one batch size.
    for threads, bf16, batches in ((1, False, (128, 1024)), (os.cpu_count(), False, (128, 1024)), (os.cpu_count(), True, (128,))):
        torch.set_num_threads(threads)
        for name, layout in layouts:
            for batch in batches:
                rate = measure(layout, batch, bf16, seconds)
                print(f"{rate:.0f} {'bf16' if bf16 else 'f32'} {name} {batch} {threads}", flush=True)


main()
