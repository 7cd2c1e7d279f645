# SPDX-License-Identifier: GPL-2.0-or-later
# What our QEMU holds besides the vtpu device; Kconfig adds what these need.
CONFIG_VTPU=y

# A PCIe machine, ports to plug the device into, and an IOMMU in front of it.
CONFIG_Q35=y
CONFIG_PCIE_PORT=y
CONFIG_VTD=y

# What tools/vtpu-vm boots with.
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_RNG=y
CONFIG_VIRTIO_9P=y
CONFIG_VIRTIO_BLK=y
CONFIG_PVPANIC_PCI=y

# Peers in tests and benchmarks: a small PCI device of QEMU's own, and nvme over null-co.
CONFIG_EDU=y
CONFIG_NVME_PCI=y
