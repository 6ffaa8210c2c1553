"""Trains the demo model's tokenizer: byte-level BPE behind GLM-4's splitting rule, with GLM's special tokens.

Reads TOPIC.train.jsonl (corpus.py), writes tokenizer.json, tokenizer_config.json, generation_config.json and
chat_template.jinja into the model folder. Every topic gives the same number of characters, so that no language's alphabet is starved.

    python3 demo/tokenizer.py [--corpus build/demo-corpus] [--out demo/model] [--size 8192]     (needs: tokenizers)
"""

import argparse
import glob
import json
import os
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"]

# The rule of the GLM-4 family's tokenizer.json, which llama.cpp knows as "glm4".
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

CHAT_TEMPLATE = ("[gMASK]<sop>"
                 "{%- for message in messages %}"
                 "{{ '<|' + message.role + '|>\\n' + message.content }}"
                 "{%- endfor %}"
                 "{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{%- endif %}")


def sample_texts(corpus, characters_per_topic, seed):
    generator = random.Random(seed)
    for path in sorted(glob.glob(os.path.join(corpus, "*.train.jsonl"))):
        with open(path, encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        generator.shuffle(texts)
        taken = 0
        for text in texts:
            piece = text[:20000]
            yield piece
            taken += len(piece)
            if taken >= characters_per_topic:
                break


def train(texts, size):
    tokenizer = Tokenizer(models.BPE(ignore_merges=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    # Specials get the last ids, as in GLM's own files: llama.cpp and HF read them by name, never by place.
    trainer = trainers.BpeTrainer(vocab_size=size - len(SPECIAL), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  min_frequency=2, show_progress=False, max_token_length=24)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", default="build/demo-corpus")
    parser.add_argument("--out", default="demo/model")
    parser.add_argument("--size", type=int, default=8192)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    tokenizer = train(sample_texts(options.corpus, 1_200_000, seed=1), options.size)
    if tokenizer.get_vocab_size() != options.size:
        raise SystemExit(f"vocabulary has {tokenizer.get_vocab_size()} tokens, expected {options.size}")
    tokenizer.save(os.path.join(options.out, "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 4096, "clean_up_tokenization_spaces": False,
              "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "additional_special_tokens": SPECIAL[1:],
              "chat_template": CHAT_TEMPLATE}
    with open(os.path.join(options.out, "tokenizer_config.json"), "w") as file:
        json.dump(config, file, indent=2)
        file.write("\n")
    stops = [tokenizer.token_to_id(text) for text in ("<|endoftext|>", "<|user|>", "<|observation|>")]
    with open(os.path.join(options.out, "generation_config.json"), "w") as file:
        json.dump({"do_sample": False, "eos_token_id": stops, "pad_token_id": stops[0]}, file, indent=2)
        file.write("\n")
    with open(os.path.join(options.out, "chat_template.jinja"), "w") as file:
        file.write(CHAT_TEMPLATE)


if __name__ == "__main__":
    main()
