"""Makes the tiny `glm_moe_dsa` checkpoints of this folder and their golden values with Hugging Face transformers.

Made with Python 3.11, torch 2.15.0 (CPU), transformers 5.17.0, safetensors 0.8.0; fp32, eager attention, eager experts,
one thread. Run:  python make.py [CASE ...]   (no argument: all cases of cases.py; each folder is written anew)

Each case gets config.json, the weights, golden.safetensors and golden.json (which names every tensor). Weights come
from `model_seed` of the case, prompts from a search: prompt seeds 0, 1, 2, ... until no row has a choice margin of
MARGIN or less, neither of the router nor of the indexer, so every row must agree. Where no prompt is found the next
model seed is tried. The seeds chosen are printed and stored in golden.json.
"""

import json
import platform
import shutil
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch.overrides import TorchFunctionMode
from transformers import DynamicCache, GlmMoeDsaConfig, GlmMoeDsaForCausalLM

from cases import CASES, draw_weight

HERE = Path(__file__).parent
MARGIN = 3e-4  # least gap between the last chosen and the first refused score, of every row
GENERATED = 10  # tokens of each greedy continuation
PROMPT_TRIES = 3000

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()


# --- recording what the model does -----------------------------------------------------------------------------------


class Recorder(TorchFunctionMode):
    """While active, keeps for each layer the hidden state and the input and output of every top-k choice, taken from
    the model's own calls of topk (so no formula is repeated here)."""

    def __init__(self, model):
        super().__init__()
        self.place, self.choices, self.hidden, self.router = None, {}, {}, {}
        self.hooks = [model.model.embed_tokens.register_forward_hook(self.keep_hidden("embedding"))]
        for i, layer in enumerate(model.model.layers):
            self.hooks.append(layer.register_forward_hook(self.keep_hidden(i)))
            if layer.self_attn.indexer is not None:
                self.watch(layer.self_attn.indexer, ("index", i))
            if hasattr(layer.mlp, "gate"):
                self.watch(layer.mlp.gate, ("router", i))
                self.hooks.append(layer.mlp.gate.register_forward_hook(self.keep_router(i)))

    def watch(self, module, place):
        self.hooks.append(module.register_forward_pre_hook(lambda *_: setattr(self, "place", place)))
        self.hooks.append(module.register_forward_hook(lambda *_: setattr(self, "place", None)))

    def keep_hidden(self, key):
        def hook(_module, _inputs, output):
            self.hidden[key] = (output[0] if isinstance(output, tuple) else output)[0].clone()
        return hook

    def keep_router(self, layer):
        def hook(_module, _inputs, output):
            self.router[layer] = (output[2].clone(), output[1].clone())  # expert ids, router weights: [tokens, K]
        return hook

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function in (torch.topk, torch.Tensor.topk) and self.place is not None:
            self.choices.setdefault(self.place, []).append((args[0].clone(), result[1].clone()))
        return result

    def __exit__(self, *error):
        for hook in self.hooks:
            hook.remove()
        return super().__exit__(*error)


def margin(scores, count):
    """[rows]: the count-th minus the next score of each row; inf where there is nothing left to refuse."""
    if scores.shape[-1] <= count:
        return torch.full(scores.shape[:-1], float("inf"))
    best = scores.sort(dim=-1, descending=True)[0]
    last, refused = best[..., count - 1], best[..., count]
    hidden_by_mask = refused <= torch.finfo(torch.float32).min / 2
    return torch.where(hidden_by_mask, torch.inf, last - refused)


def router_record(recorder, config, layer):
    (ids, weights), calls = recorder.router[layer], recorder.choices[("router", layer)]
    # by weight, largest first, equal weights by id: two stable sorts
    by_id = ids.argsort(dim=-1, stable=True)
    ids, weights = ids.gather(1, by_id), weights.gather(1, by_id)
    by_weight = weights.argsort(dim=-1, descending=True, stable=True)
    group_scores, biased_scores = calls[1][0], calls[2][0]
    return {
        "expert_ids": ids.gather(1, by_weight).to(torch.int32),
        "router_weights": weights.gather(1, by_weight),
        "router_margin": margin(biased_scores, config.num_experts_per_tok),
        "group_margin": margin(group_scores, config.topk_group),
    }


def index_record(recorder, config, layer):
    scores, picked = (t[0] for t in recorder.choices[("index", layer)][0])  # [rows, keys], [rows, topk]
    rows, keys = scores.shape
    position = torch.arange(keys - rows, keys)[:, None]
    ids = picked.where(picked <= position, keys).sort(dim=-1)[0]  # picks of the future fill up short rows: dropped
    ids = torch.where(ids == keys, -1, ids).to(torch.int32)
    padding = torch.full((rows, config.index_topk - ids.shape[1]), -1, dtype=torch.int32)
    return {"index_ids": torch.cat([ids, padding], dim=1), "index_margin": margin(scores, config.index_topk)}


@torch.no_grad()
def capture(model, token_ids):
    """One prompt run alone: {tensor name without prefix: tensor}."""
    with Recorder(model) as recorder:
        logits = model(input_ids=torch.tensor([token_ids]), use_cache=False).logits[0]
    record = {"token_ids": torch.tensor(token_ids, dtype=torch.int32), "logits": logits,
              "embedding": recorder.hidden["embedding"]}
    for i in range(model.config.num_hidden_layers):
        record[f"layer.{i}.hidden"] = recorder.hidden[i]
        if ("router", i) in recorder.choices:
            record |= {f"layer.{i}.{k}": v for k, v in router_record(recorder, model.config, i).items()}
        if ("index", i) in recorder.choices:
            record |= {f"layer.{i}.{k}": v for k, v in index_record(recorder, model.config, i).items()}
    return record


def least_margin(record, kind):
    return min((v.min().item() for k, v in record.items() if k.endswith(kind)), default=float("inf"))


def clear_choices(record):
    return least_margin(record, "_margin") > MARGIN


# --- greedy decoding -------------------------------------------------------------------------------------------------


@torch.no_grad()
def decode(model, token_ids):
    """Greedy continuation with cache, one token a step. Returns the new ids and the logits that chose them."""
    cache, step, generated, logits = DynamicCache(config=model.config), token_ids, [], []
    for _ in range(GENERATED):
        logits.append(model(input_ids=torch.tensor([step]), past_key_values=cache, use_cache=True).logits[0, -1])
        generated.append(int(logits[-1].argmax()))
        step = generated[-1:]
    return generated, torch.stack(logits)


def decode_record(model, token_ids):
    """The continuation and the teacher-forced capture of prompt + continuation; None if a choice is too close."""
    generated, step_logits = decode(model, token_ids)
    eos = model.config.eos_token_id
    if set(generated) & set(eos if isinstance(eos, list) else [eos]) or margin(step_logits, 1).min() <= MARGIN:
        return None
    record = capture(model, token_ids + generated)
    record["generated_ids"] = torch.tensor(generated, dtype=torch.int32)
    record["step_logits"] = step_logits
    return record if clear_choices(record) else None


def check_decoding(model, record, prompt_length):
    """The same continuation by generate(), and cached logits against teacher-forced ones: the largest difference."""
    ids = record["token_ids"].tolist()
    wanted = record["generated_ids"].tolist()
    produced = model.generate(torch.tensor([ids[:prompt_length]]), attention_mask=torch.ones(1, prompt_length).long(),
                              max_new_tokens=GENERATED, do_sample=False)[0].tolist()
    assert produced[prompt_length:] == wanted, "generate() and the loop with cache differ"
    forced = record["logits"][prompt_length - 1:-1]
    assert forced.argmax(dim=-1).tolist() == wanted, "teacher-forced argmax differs from decoding"
    return (forced - record["step_logits"]).abs().max().item()


# --- checkpoints -----------------------------------------------------------------------------------------------------


def fill_weights(model, case, seed):
    random = torch.Generator().manual_seed(seed)
    tensors = dict(model.named_parameters()) | {k: v for k, v in model.named_buffers() if k.endswith("_bias")}
    for name in sorted(tensors):
        tensors[name].data.copy_(draw_weight(name, tuple(tensors[name].shape), model.config, case.bias, random))


def mtp_tensors(model, case, seed):
    """The tensors of the multi-token-prediction layer, named like the published ones: one more sparse layer with an
    indexer, and what joins it to the trunk. No reader may need or refuse them."""
    random, hidden = torch.Generator().manual_seed(seed), model.config.hidden_size
    kinds = zip(model.config.indexer_types, model.config.mlp_layer_types)
    donor = list(kinds).index(("full", "sparse"))
    own = {"eh_proj.weight": (hidden, 2 * hidden), "enorm.weight": (hidden,), "hnorm.weight": (hidden,),
           "shared_head.norm.weight": (hidden,)}
    like = {k.removeprefix(f"model.layers.{donor}."): tuple(v.shape) for k, v in model.state_dict().items()
            if k.startswith(f"model.layers.{donor}.")}
    return {f"model.layers.{model.config.num_hidden_layers}.{k}": draw_weight(k, shape, model.config, case.bias, random)
            for k, shape in (own | like).items()}


def convert_file(path, dtype, surplus):
    tensors = load_file(path) | surplus
    for name, tensor in tensors.items():
        tensors[name] = tensor.to(torch.float32 if name.endswith("e_score_correction_bias") else dtype).contiguous()
    save_file(tensors, path, metadata={"format": "pt"})


def edit_config(folder, case):
    config = json.loads((folder / "config.json").read_text())
    config = {k: v for k, v in config.items() if k not in case.drop_keys} | case.add_keys
    config["dtype"] = str(case.dtype).removeprefix("torch.")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def write_checkpoint(case, seed, folder):
    shutil.rmtree(folder, ignore_errors=True)
    model = GlmMoeDsaForCausalLM(GlmMoeDsaConfig(**case.config))
    fill_weights(model, case, seed)
    model.save_pretrained(folder, max_shard_size=case.max_shard_size, save_original_format=not case.fused_experts)
    (folder / "generation_config.json").unlink(missing_ok=True)
    surplus = mtp_tensors(model, case, seed + 1) if case.mtp_layer else {}
    if surplus or case.dtype != torch.float32:
        convert_file(folder / "model.safetensors", case.dtype, surplus)
    edit_config(folder, case)


def load(folder, dtype=torch.float32, attention="eager"):
    model, report = GlmMoeDsaForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation=attention, experts_implementation="eager", output_loading_info=True)
    last = model.config.num_hidden_layers
    assert not report["missing_keys"] and not report["mismatched_keys"], report
    assert all(k.startswith(f"model.layers.{last}.") for k in report["unexpected_keys"]), report
    return model.eval()


# --- golden values ---------------------------------------------------------------------------------------------------


def search(model, lengths, attempt):
    """For each length the first prompt seed whose record is clear of close choices; None where there is none."""
    found, seed = [], 0
    for length in lengths:
        for seed in range(seed, seed + PROMPT_TRIES):
            random = torch.Generator().manual_seed(seed)
            ids = torch.randint(model.config.vocab_size, (length,), generator=random).tolist()
            if (record := attempt(ids)) is not None:
                found.append((seed, record))
                break
        else:
            return None
        seed += 1
    return found


def capture_clear(model, ids):
    record = capture(model, ids)
    return record if clear_choices(record) else None


LEGEND = {
    "token_ids": "i32 [T]; in decode.*: prompt followed by the generated tokens",
    "embedding": "f32 [T, hidden_size], input of layer 0",
    "layer.L.hidden": "f32 [T, hidden_size], output of decoder layer L (before the final norm)",
    "layer.L.expert_ids": "i32 [T, num_experts_per_tok], sparse layers only; largest weight first, ties by id",
    "layer.L.router_weights": "f32 like expert_ids; the weight applied (after normalising and scaling)",
    "layer.L.router_margin": "f32 [T], k-th minus k+1-th of sigmoid + bias within the allowed groups; inf: no refusal",
    "layer.L.group_margin": "f32 [T], last allowed minus first refused group score; inf with one group",
    "layer.L.index_ids": "i32 [T, index_topk], full layers only; visible positions chosen, ascending, padded with -1",
    "layer.L.index_margin": "f32 [T], k-th minus k+1-th index score of visible positions; inf: all visible are chosen",
    "logits": "f32 [T, vocab_size]",
    "generated_ids": "i32 [10], decode.* only: greedy continuation with cache",
    "step_logits": "f32 [10, vocab_size], decode.* only: the logits that chose generated_ids, with cache",
}


def describe(seed, record, generated=0):
    count = len(record["token_ids"])
    return {"prompt_seed": seed, "token_count": count, "prompt_length": count - generated,
            "least_router_margin": least_margin(record, "router_margin"),
            "least_group_margin": least_margin(record, "group_margin"),
            "least_index_margin": least_margin(record, "index_margin")}


def write_golden(case, seed, folder, prompts, continued, floors):
    tensors = {}
    for prefix, records in (("prompt", prompts), ("decode", continued)):
        for i, (_, record) in enumerate(records):
            tensors |= {f"{prefix}.{i}.{k}": v.contiguous() for k, v in record.items()}
    save_file(tensors, folder / "golden.safetensors")
    golden = {
        "case": case.name, "proves": case.proves, "model_seed": seed, "least_margin_allowed": MARGIN,
        "made_with": {"python": platform.python_version(), "torch": torch.__version__,
                      "transformers": transformers.__version__, "dtype": "float32", "attention": "eager",
                      "experts": "eager", "device": "cpu"},
        "tensors": {"prompt.P.* and decode.D.*": LEGEND}, "floors": floors,
        "prompts": [describe(s, r) for s, r in prompts],
        "decodes": [describe(s, r, GENERATED) for s, r in continued],
    }
    text = json.dumps(golden, indent=2).replace("Infinity", "null")
    (folder / "golden.json").write_text(text + "\n")


def largest_difference(first, second, kind):
    return max((first[k].double() - second[k].double()).abs().max().item() for k in first if k.endswith(kind))


def measure_floors(folder, prompts):
    """How far other routes of the same implementation lie from the golden values; ids and index sets must be equal."""
    floors = {}
    for name, options in (("sdpa", dict(attention="sdpa")), ("float64", dict(dtype=torch.float64))):
        model = load(folder, **options)
        for _, record in prompts:
            other = capture(model, record["token_ids"].tolist())
            for key in (k for k in record if k.endswith("_ids")):
                assert torch.equal(record[key], other[key]), f"{name}: {key} differs"
            for kind in ("hidden", "router_weights", "logits"):
                floor = f"{name}_{kind}"
                floors[floor] = max(floors.get(floor, 0), largest_difference(record, other, kind))
    return floors


def make(case):
    folder = HERE / case.name
    for seed in range(case.model_seed, case.model_seed + 50):
        write_checkpoint(case, seed, folder)
        model = load(folder)
        prompts = search(model, case.prompt_lengths, lambda ids: capture_clear(model, ids))
        continued = prompts and search(model, case.decode_lengths, lambda ids: decode_record(model, ids))
        if continued:
            break
    else:
        sys.exit(f"{case.name}: no seed found")
    floors = measure_floors(folder, prompts)
    floors["cached_against_forced_logits"] = max(
        check_decoding(model, record, len(record["token_ids"]) - GENERATED) for _, record in continued)
    write_golden(case, seed, folder, prompts, continued, floors)
    for file in folder.iterdir():
        file.chmod(0o644)
    size = sum(f.stat().st_size for f in folder.iterdir())
    print(f"{case.name}: model seed {seed}, prompt seeds {[s for s, _ in prompts]}, decode seeds "
          f"{[s for s, _ in continued]}, {size / 1024:.0f} KiB")
    for kind in ("router_margin", "group_margin", "index_margin"):
        print(f"  least {kind}: {min(least_margin(r, kind) for _, r in prompts + continued):.2e}")
    print("  floors: " + ", ".join(f"{k} {v:.1e}" for k, v in floors.items()))


if __name__ == "__main__":
    names = sys.argv[1:] or [case.name for case in CASES]
    for case in CASES:
        if case.name in names:
            make(case)
