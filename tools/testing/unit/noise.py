#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Computes the transcripts of rdma/tests/noise-kunit.h from the specifications alone (Noise
revision 34, RFC 7748, RFC 8439), and compares their digest with rdma/tests/noise-vectors.h."""

import hashlib
import hmac
import os
import re
import struct
import sys

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../../rdma/tests/noise-vectors.h")
P = 2 ** 255 - 19


def x25519(secret: bytes, point: bytes) -> bytes:
    k = int.from_bytes(secret, "little") & ~7 & (2 ** 255 - 1) | 2 ** 254
    u = int.from_bytes(point, "little") & (2 ** 255 - 1)
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in range(254, -1, -1):
        swap = k >> bit & 1
        if swap:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % P, b * b % P, d * a % P, c * b % P
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
        if swap:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


def public(secret: bytes) -> bytes:
    return x25519(secret, bytes([9]) + bytes(31))


def chacha20(key: bytes, counter: int, nonce: bytes) -> bytes:
    start = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
             *struct.unpack("<8I", key), counter, *struct.unpack("<3I", nonce)]
    s = list(start)

    def rotate(value: int, by: int) -> int:
        return (value << by | value >> 32 - by) & 0xffffffff

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for x, y, z, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xffffffff
            s[z] = rotate(s[z] ^ s[x], by)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) & 0xffffffff for a, b in zip(s, start)))


def poly1305(key: bytes, data: bytes) -> bytes:
    r = int.from_bytes(key[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for at in range(0, len(data), 16):
        total = (total + int.from_bytes(data[at:at + 16] + b"\1", "little")) * r % (2 ** 130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2 ** 128).to_bytes(16, "little")


def seal(key: bytes, number: int, header: bytes, text: bytes) -> bytes:
    nonce = struct.pack("<IQ", 0, number)
    stream = b"".join(chacha20(key, 1 + i, nonce) for i in range(len(text) // 64 + 1))
    body = bytes(a ^ b for a, b in zip(text, stream))

    def padded(data: bytes) -> bytes:
        return data + bytes(-len(data) % 16)

    return body + poly1305(chacha20(key, 0, nonce)[:32], padded(header) + padded(body) +
                           struct.pack("<QQ", len(header), len(body)))


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def hkdf(chain: bytes, data: bytes) -> list[bytes]:
    temp = hmac.digest(chain, data, "sha256")
    out = [b""]
    for i in (1, 2, 3):
        out.append(hmac.digest(temp, out[-1] + bytes([i]), "sha256"))
    return out[1:]


class Handshake:
    """One side is enough: both have the same state when a message is sent."""

    def __init__(self, prologue: bytes, donor: bytes):
        self.chain = self.hash = sha256(b"Noise_IKpsk2_25519_ChaChaPoly_SHA256")
        self.key, self.number = b"", 0
        self.mix_hash(prologue)
        self.mix_hash(donor)

    def mix_hash(self, data: bytes) -> None:
        self.hash = sha256(self.hash + data)

    def mix_key(self, data: bytes) -> None:
        self.chain, self.key, _ = hkdf(self.chain, data)
        self.number = 0

    def ephemeral(self, point: bytes) -> bytes:
        self.mix_hash(point)
        self.mix_key(point)
        return point

    def encrypt(self, text: bytes) -> bytes:
        sealed = seal(self.key, self.number, self.hash, text)
        self.number += 1
        self.mix_hash(sealed)
        return sealed


def seed(*numbers: int) -> bytes:
    return sha256(b"farswap noise " + bytes(numbers))


def transcripts(rounds: int) -> str:
    digest = bytes(32)
    for n in range(rounds):
        client, donor, client_e, donor_e, psk = (seed(n, i) for i in range(5))
        shake = Handshake(bytes(n ^ i for i in range(16 * n)), public(donor))
        said = [shake.ephemeral(public(client_e))]
        shake.mix_key(x25519(client_e, public(donor)))
        said.append(shake.encrypt(public(client)))
        shake.mix_key(x25519(client, public(donor)))
        said.append(shake.encrypt(bytes([n]) * (4 * n)))
        answer = [shake.ephemeral(public(donor_e))]
        shake.mix_key(x25519(donor_e, public(client_e)))
        shake.mix_key(x25519(donor_e, public(client)))
        shake.chain, extra, shake.key = hkdf(shake.chain, psk)
        shake.number = 0
        shake.mix_hash(extra)
        answer.append(shake.encrypt(bytes([n ^ 255]) * (64 - 4 * n)))
        *keys, bind = hkdf(shake.chain, b"")
        for data in (b"".join(said), b"".join(answer), shake.hash, bind):
            digest = sha256(digest + data)
        for i in range(4):
            digest = sha256(digest + seal(keys[i % 2], i // 2, bytes([i]) * 16,
                                          bytes([n + i]) * (29 * n + i)))
    return digest.hex()


def main() -> int:
    with open(VECTORS, encoding="ascii") as file:
        found = re.search(r'noise_transcripts\[\] =\s*"([0-9a-f]*)"', file.read())
    digest = transcripts(16)
    good = bool(found) and found.group(1) == digest
    print(f"{'' if good else 'not '}ok 1 - the transcripts' digest is {digest}")
    print("1..1")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
