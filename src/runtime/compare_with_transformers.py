"""Compares a trace that `expert-atlas capture` wrote with transformers on the same model folder, probe by probe.

A witness from end to end: prompt tokens against apply_chat_template, generated answers against the argmax of
transformers' logits, expert ids and router weights of every row. Not part of the tests, since it needs Python's torch
and transformers (tried: 5.17.0, torch 2.15.0). The model is loaded in fp32: loaded in bf16, transformers rounds the
router's fp32 weight too, which alone changes some 2 % of the demo model's rows.

    python src/runtime/compare_with_transformers.py MODEL X.trace PROBES.json [EVERY_NTH_PROBE]
"""

import json
import sys

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer


def load_trace(folder):
    with open(f"{folder}/manifest.json", encoding="utf-8") as file:
        manifest = json.load(file)
    layers = {layer: load_file(f"{folder}/layer-{layer:03d}.safetensors") for layer in manifest["layers"]}
    return manifest, load_file(f"{folder}/tokens.safetensors")["token_ids"].astype(np.int64), layers


def prompt_ids(tokenizer, prompt):
    encoded = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True)
    return encoded if isinstance(encoded, list) else encoded["input_ids"]


def main():
    model_folder, trace_folder, probes_file = sys.argv[1:4]
    step = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    manifest, token_ids, layers = load_trace(trace_folder)
    with open(probes_file, encoding="utf-8") as file:
        prompts = {probe["id"]: probe["prompt"] for probe in json.load(file)["probes"]}
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32, attn_implementation="eager",
                                                 experts_implementation="eager").eval()
    routing = {}
    for layer in layers:
        hook = lambda module, inputs, output, layer=layer: routing.__setitem__(layer, output)
        model.model.layers[layer].mlp.gate.register_forward_hook(hook)
    count = dict.fromkeys(["rows x layers", "rows with other experts", "prompts with other tokens", "answer tokens",
                           "answer tokens that are not the argmax"], 0)
    largest_difference, margins = 0.0, []
    for probe in manifest["probes"][::step]:
        rows = slice(probe["row_begin"], probe["row_end"])
        ids = token_ids[rows].tolist()
        prompt = prompt_ids(tokenizer, prompts[probe["id"]])
        count["prompts with other tokens"] += ids[:len(prompt)] != prompt
        with torch.no_grad():
            best = model(torch.tensor([ids]), use_cache=False).logits[0].argmax(-1).tolist()
        count["answer tokens"] += len(ids) - len(prompt)
        count["answer tokens that are not the argmax"] += sum(best[i - 1] != ids[i] for i in range(len(prompt), len(ids)))
        for layer, ours in layers.items():
            _, weights, experts = routing[layer]
            weights = weights.sort(dim=-1, descending=True)[0]
            same = (np.sort(ours["expert_ids"][rows]) == experts.sort(dim=-1)[0].numpy()).all(-1)
            count["rows x layers"] += len(same)
            count["rows with other experts"] += int((~same).sum())
            margins += ours["selection_margin"][rows][~same].tolist()
            if same.any():
                largest_difference = max(largest_difference, float(np.abs(ours["router_weights"][rows] - weights.numpy())[same].max()))
    for name, value in count.items():
        print(f"{name}: {value}")
    print(f"largest selection margin of a row with other experts: {max(margins, default=0.0):.2e}")
    print(f"largest difference of a router weight: {largest_difference:.2e}")


if __name__ == "__main__":
    main()
