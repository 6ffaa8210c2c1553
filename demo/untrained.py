"""Writes the control: the demo model's network with seeded noise instead of trained weights.

Same config.json, tensor names and dtypes as the shipped model, and its tokenizer files copied beside. Initialisation
as in Hugging Face's code and as train.py starts: matrices and embeddings normal with deviation 0.02, norm weights 1,
norm biases and the router's correction bias 0. Normals come from a table of 65,536 quantiles looked up by the bytes of
Python's Mersenne Twister (each tensor seeded by its name), so any machine writes the same file. Standard library only.

    python3 demo/untrained.py --out out/demo/untrained [--model demo/model] [--seed 1]
"""

import argparse
import array
import json
import os
import random
import shutil
import struct
import sys
from statistics import NormalDist

from checkpoint import element_count, write_checkpoint

DEVIATION = 0.02


def bf16_bits(value):
    """The bf16 nearest to a float, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def noise(table, typecode, name, count, seed):
    draws = array.array("H")
    draws.frombytes(random.Random(f"{seed}:{name}").randbytes(2 * count))
    values = array.array(typecode, map(table.__getitem__, draws))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def constant(value, dtype, count):
    return (struct.pack("<f", value) if dtype == "F32" else struct.pack("<H", bf16_bits(value))) * count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "model"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with open(os.path.join(options.model, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    normal = NormalDist(0.0, DEVIATION)
    quantiles = [normal.inv_cdf((index + 0.5) / 65536) for index in range(65536)]
    half_table = [bf16_bits(value) for value in quantiles]

    def tensor_bytes(name, dtype, shape):
        count = element_count(shape)
        if name.endswith("bias"):
            return constant(0.0, dtype, count)
        if "norm" in name:
            return constant(1.0, dtype, count)
        return noise(quantiles if dtype == "F32" else half_table, "f" if dtype == "F32" else "H", name, count, options.seed)

    write_checkpoint(options.out, config, tensor_bytes)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        source = os.path.join(options.model, name)
        if os.path.exists(source):
            shutil.copyfile(source, os.path.join(options.out, name))


if __name__ == "__main__":
    main()
