# SPDX-License-Identifier: GPL-2.0
"""Builds the guests' initramfs out of the host's programs, the cached kernel's
modules and this tree's build. Images are kept in the cache by content."""

import glob
import hashlib
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, BinaryIO, Iterator, Sequence

# This directory is reached by links, too.
TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
# The parts of the harness that are not in Python.
QEMU = os.path.join(TOP, "tools/testing/qemu")
FETCH = os.path.join(QEMU, "fetch.sh")
# The tree whose farswap the guests get; only a comparison of two trees changes it.
BUILT = TOP

# Loaded by /init, in this order.
BOOT_MODULES = ["virtio_net", "virtio_blk", "rdma_rxe", "rdma_ucm"]
# Available for tests that need them.
MORE_MODULES = """ib_umad rdma_cm ib_uverbs zram brd loop dm-mod dm-delay dm-flakey
    dm-snapshot sch_netem sch_tbf cls_u32 sch_prio sch_ingress act_gact nbd
    null_blk ext4 crc32_generic crc32c_generic crc32-pclmul crc32c-intel lzo
    lzo-rle lz4 zstd zsmalloc zbud failover virtio_rng virtio_balloon
    curve25519-x86_64 libchacha20poly1305 aesni-intel""".split()

# This tree's; all but the first two are of the tests.
MODULES = ["mm/farswap.ko", "rdma/farswap-rdma.ko",
           "tools/testing/modules/farswap-ram.ko", "tools/testing/modules/farswap-disk.ko",
           "tools/testing/modules/farswap-adapter.ko",
           "tools/testing/modules/farswap-machine.ko", "tools/testing/modules/farswap-patch.ko"]
# A kernel of tools/testing/tree/kernel.sh has these modules already.
TREE_MODULES = [os.path.basename(name)[:-len(".ko")] for name in MODULES]

# Host programs, by name; those marked ? may be missing.
PROGRAMS = """dash bash modprobe rmmod insmod depmod ip rdma tc dmsetup
    ?ib_read_lat ?ib_read_bw ?ib_write_lat ?ib_write_bw ?ibv_devinfo""".split()
SEARCH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


class ImageError(Exception):
    """The image cannot be built; the text says why."""


def cache_dir() -> str:
    return subprocess.check_output([FETCH, "--cache"], text=True).strip()


def kernel(root: str | None = None) -> tuple[str, str, str]:
    """Version, boot image and root of a kernel; of the cached one of Debian, if None."""
    ready = os.path.join(root or os.path.join(cache_dir(), "kernel"), "ready")
    if not os.path.exists(ready):
        raise ImageError(f"no kernel in {root}: tools/testing/tree/kernel.sh prints where one is"
                         if root else
                         "no kernel in the cache: run tools/testing/qemu/fetch.sh")
    with open(ready, encoding="ascii") as file:
        version = file.read().strip()
    root = root or os.path.join(cache_dir(), "kernel-" + version)
    boot = os.path.join(root, "boot", "vmlinux-" + version)
    if not os.path.exists(boot):
        raise ImageError(f"no {boot}: run tools/testing/qemu/fetch.sh, or, if kernel.sh of an "
                         "older revision has built it, remove it and have it built anew")
    return version, boot, root


def machine_of(root: str | None) -> tuple[dict[str, int], str]:
    """
    The needs of a kernel: ({"memory": extra MB, "cpus": minimum, "slow": factor for timeouts},
    kernel arguments).
    """
    needs = {"memory": 0, "cpus": 1, "slow": 1}
    path = os.path.join(root, "machine") if root else ""
    words = []
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            words = file.read().split()
    arguments = ""
    for word in words:
        key, _, value = word.partition("=")
        if key in needs:
            needs[key] = int(value)
        else:
            arguments += f"{word} "
    return needs, arguments


class Cpio:
    """Writes the newc format, with every time stamp zero."""

    def __init__(self):
        self.entries = {}

    def add(self, path: str, mode: int, data: bytes = b"",
            rdev: tuple[int, int] = (0, 0)) -> None:
        path = path.strip("/")
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.add(parent, 0o40755)
        self.entries[path] = (mode, data, rdev)

    def file(self, path: str, source: str, mode: int | None = None) -> None:
        with open(source, "rb") as file:
            data = file.read()
        if mode is None:
            mode = 0o755 if os.access(source, os.X_OK) else 0o644
        self.add(path, 0o100000 | mode, data)

    def text(self, path: str, text: str, mode: int = 0o644) -> None:
        self.add(path, 0o100000 | mode, text.encode())

    def link(self, path: str, target: str) -> None:
        self.add(path, 0o120777, target.encode())

    def digest(self) -> str:
        state = hashlib.sha256()
        for path, (mode, data, rdev) in sorted(self.entries.items()):
            state.update(f"{path}\0{mode}\0{rdev}\0{len(data)}\0".encode())
            state.update(data)
        return state.hexdigest()[:24]

    def write(self, out: BinaryIO) -> None:
        number = 0
        trailer = ("TRAILER!!!", (0, b"", (0, 0)))
        for path, (mode, data, rdev) in sorted(self.entries.items()) + [trailer]:
            number += 1
            name = path.encode() + b"\0"
            head = "070701" + "".join(f"{value:08X}" for value in (
                number, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1],
                len(name), 0))
            head = head.encode() + name
            out.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))


def run(command: Sequence[str], **kwargs: Any) -> str:
    kwargs.setdefault("env", dict(os.environ, PATH=SEARCH))
    return subprocess.run(command, check=True, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs).stdout


def libraries(program: str, library_path: str | None = None) -> Iterator[tuple[str, str]]:
    """(name in the guest, host file) of every library the program loads."""
    env = dict(os.environ)
    if library_path:
        env["LD_LIBRARY_PATH"] = library_path
    try:
        listing = run(["ldd", program], env=env)
    except subprocess.CalledProcessError:
        return          # static
    for line in listing.splitlines():
        if "not found" in line:
            raise ImageError(f"{program}: {line.strip()}")
        words = line.split()
        path = words[2] if "=>" in words else words[0]
        if path.startswith("/"):
            name = words[0] if path == words[0] else os.path.join(
                "/lib/x86_64-linux-gnu", words[0])
            yield name, path


def add_program(cpio: Cpio, path: str, source: str, library_path: str | None = None) -> None:
    cpio.file(path, source)
    for name, library in libraries(source, library_path):
        cpio.file(name, os.path.realpath(library), 0o755)


def module_index(root: str, version: str) -> dict[str, tuple[str, list[str]]]:
    """Name -> (path, dependencies) from modules.dep."""
    index = {}
    with open(f"{root}/lib/modules/{version}/modules.dep", encoding="ascii") as file:
        for line in file:
            path, needs = line.strip().split(":", 1)
            name = os.path.basename(path).split(".ko")[0].replace("-", "_")
            index[name] = (path, needs.split())
    return index


def add_modules(cpio: Cpio, version: str, root: str, built: Sequence[str],
                more: Sequence[str]) -> None:
    """The wanted modules, what they depend on, and this tree's."""
    base = f"{root}/lib/modules/{version}"
    index = module_index(root, version)
    with open(f"{base}/modules.builtin", encoding="ascii") as file:
        built_in = {os.path.basename(line.strip())[:-len(".ko")].replace("-", "_")
                    for line in file}
    wanted = set()
    for name in [*BOOT_MODULES, *MORE_MODULES, *more]:
        entry = index.get(name.replace("-", "_"))
        if entry:
            wanted.update([entry[0], *entry[1]])
        elif name in BOOT_MODULES and name.replace("-", "_") not in built_in:
            raise ImageError(f"kernel {version} has no module {name}")
    with tempfile.TemporaryDirectory(prefix="farswap-image-") as stage:
        tree = f"{stage}/lib/modules/{version}"
        os.makedirs(tree + "/extra")
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            if os.path.exists(f"{base}/{name}"):
                shutil.copy(f"{base}/{name}", tree)
        for path in wanted:
            target = os.path.join(tree, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if path.endswith(".xz"):
                with lzma.open(os.path.join(base, path)) as file, \
                        open(target[:-3], "wb") as out:
                    shutil.copyfileobj(file, out)
            else:
                shutil.copy(os.path.join(base, path), target)
        for path in built:
            check_module(path, version)
            run(["strip", "--strip-debug", "-o", f"{tree}/extra/{os.path.basename(path)}", path])
        run(["depmod", "-b", stage, version])
        for directory, _, files in os.walk(tree):
            for name in files:
                path = os.path.join(directory, name)
                cpio.file(path[len(stage):], path, 0o644)


def check_module(path: str, version: str) -> None:
    magic = run(["modinfo", "-F", "vermagic", path]).split()
    if not magic or magic[0] != version:
        raise ImageError(f"{os.path.relpath(path, TOP)} was built for kernel "
                         f"{magic[0] if magic else '?'}, the guests run {version}: "
                         "make clean, then make KDIR=$(tools/testing/qemu/fetch.sh --kdir)")


def build_tool(source: str) -> str:
    """A C program of the harness, static, kept in the cache by its source."""
    with open(source, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:16]
    name = os.path.basename(source)[:-len(".c")]
    program = os.path.join(cache_dir(), f"{name}-{digest}")
    if not os.path.exists(program):
        temporary = f"{program}.{os.getpid()}"
        run(["gcc", "-O2", "-Wall", "-static", "-o", temporary, source])
        os.rename(temporary, program)
    return program


def add_verbs(cpio: Cpio) -> None:
    """libibverbs finds its providers by name at run time; ldd cannot know."""
    found = glob.glob("/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so")
    if not found:
        raise ImageError("no verbs provider for rxe: install ibverbs-providers")
    for provider in found:
        add_program(cpio, provider, provider)
    cpio.file("/etc/libibverbs.d/rxe.driver", "/etc/libibverbs.d/rxe.driver", 0o644)


def add_base(cpio: Cpio) -> None:
    cpio.add("/dev/console", 0o20600, rdev=(5, 1))
    cpio.add("/dev/null", 0o20666, rdev=(1, 3))
    for path in "/proc /sys /tmp /run /root /mnt /var".split():
        cpio.add(path, 0o40755)
    cpio.file("/init", os.path.join(QEMU, "guest", "init"), 0o755)
    cpio.file("/bin/busybox", shutil.which("busybox", path=SEARCH))
    agent = build_tool(os.path.join(QEMU, "guest", "agent.c"))
    cpio.file("/usr/local/bin/agent", agent, 0o755)
    for name in ("host", "on"):
        cpio.link("/usr/local/bin/" + name, "agent")
    for name in sorted(os.listdir(os.path.join(QEMU, "guest"))):
        if name not in ("init", "agent.c"):
            cpio.file("/usr/local/bin/" + name, os.path.join(QEMU, "guest", name), 0o755)
    for name in PROGRAMS:
        path = shutil.which(name.lstrip("?"), path=SEARCH)
        if path:
            where = "/sbin/" if name in ("modprobe", "rmmod", "insmod", "depmod") else "/usr/bin/"
            add_program(cpio, where + name.lstrip("?"), path)
        elif not name.startswith("?"):
            raise ImageError(f"{name} is not installed: run tools/testing/qemu/fetch.sh")
    cpio.link("/bin/sh", "/usr/bin/dash")
    cpio.link("/bin/bash", "/usr/bin/bash")
    cpio.text("/etc/modules", "\n".join(BOOT_MODULES) + "\n")
    cpio.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
              "nobody:x:65534:65534:nobody:/:/bin/false\nfarswap:x:990:990::/:/bin/false\n")
    cpio.text("/etc/group", "root:x:0:\nnogroup:x:65534:\nfarswap:x:990:\n")
    cpio.text("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    cpio.text("/etc/hosts", "127.0.0.1 localhost\n10.0.0.1 client\n" + "".join(
        f"10.0.0.{n + 1} donor{n}\n" for n in range(1, 9)))


def built_modules() -> list[str]:
    return [path for path in (os.path.join(BUILT, name) for name in MODULES)
            if os.path.exists(path)]


def add_built(cpio: Cpio) -> None:
    """This tree's programs, where they have been built."""
    for name in ("farswapd", "farswapctl"):
        path = os.path.join(BUILT, "daemon", name)
        if os.path.exists(path):
            add_program(cpio, "/usr/sbin/" + name, path)
    # A file that farswapctl writes comes later, and is stronger.
    cpio.text("/etc/farswapd.conf.d/00-test.conf", "auth = none\n")


def build(extra: Sequence[tuple[str, str]] = (),
          extra_programs: Sequence[tuple[str, str, str | None]] = (),
          modules: Sequence[str] | None = None, extra_modules: Sequence[str] = (),
          root: str | None = None) -> str:
    """
    The path of an image. extra: (guest path, host path) of plain files;
    extra_programs: (guest path, host path, library path or None); modules: the
    .ko files to include, this tree's if None; extra_modules: names of the kernel's;
    root: see kernel(); what it has in modules/ is instead of its own.
    """
    version, _, base = kernel(root)
    if root:
        modules = sorted(glob.glob(os.path.join(root, "modules", "*.ko")))
        replaced = [os.path.basename(path)[:-len(".ko")] for path in modules]
        extra_modules = [*(name for name in TREE_MODULES if name not in replaced),
                         *extra_modules]
    cpio = Cpio()
    add_base(cpio)
    add_verbs(cpio)
    add_modules(cpio, version, base, built_modules() if modules is None else modules,
                extra_modules)
    add_built(cpio)
    for target, source in extra:
        cpio.file(target, source)
    for target, source, library_path in extra_programs:
        add_program(cpio, target, source, library_path)
    directory = os.path.join(cache_dir(), "images")
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, cpio.digest() + ".cpio")
    if not os.path.exists(path):
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "wb") as out:
            cpio.write(out)
        os.rename(temporary, path)
        prune(directory)
    os.utime(path)
    return path


def prune(directory: str, keep: int = 12) -> None:
    """Drop the oldest images; not young ones, a guest may be about to read them."""
    try:
        files = sorted(glob.glob(directory + "/*.cpio*"), key=os.path.getmtime, reverse=True)
        for path in files[keep:]:
            if time.time() - os.path.getmtime(path) > 600:
                os.unlink(path)
    except FileNotFoundError:
        pass            # another process is deleting the same file


if __name__ == "__main__":
    try:
        print(build())
    except ImageError as error:
        sys.exit(f"image: {error}")
