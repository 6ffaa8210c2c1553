"""Converts the demo model to GGUF with llama.cpp's own converter, which is not part of this project.

The converter comes in the source distribution of PyPI's llama-cpp-python 0.3.36, under vendor/llama.cpp; it knows
tokenizers by a hash of their output and would refuse ours. Its splitting rule is GLM-4's, so this wrapper answers
"glm4" in the converter's place and changes nothing else. Needs: torch, transformers, sentencepiece.

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36, unpack it, then
    python3 demo/convert_to_gguf.py UNPACKED/vendor/llama.cpp demo/model --outtype f32 --outfile out/demo.gguf
"""

import os
import runpy
import sys

source = os.path.abspath(sys.argv[1])
sys.path[:0] = [source, os.path.join(source, "gguf-py")]
from conversion.base import TextModel  # noqa: E402  (found only after the path is set)

TextModel.get_vocab_base_pre = lambda self, tokenizer: "glm4"
sys.argv = ["convert_hf_to_gguf.py", *sys.argv[2:]]
runpy.run_path(os.path.join(source, sys.argv[0]), run_name="__main__")
