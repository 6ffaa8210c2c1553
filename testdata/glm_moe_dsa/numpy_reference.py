"""A second implementation of `glm_moe_dsa`, in plain numpy float64, written from the formulas and without transformers.

Reads a checkpoint folder made by make.py, runs every prompt of its golden.safetensors and prints the largest
differences to the golden values. Then it runs again with one known mistake at a time (MISTAKES) and prints how far each
moves the values: a mistake that moves nothing would not be caught by the fixture.
Made with Python 3.11 and numpy 2.4.6. Run:  python numpy_reference.py [CASE ...]   (no argument: all cases)
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DTYPES = {"F32": np.float32, "F16": np.float16, "I32": np.int32, "BF16": np.uint16}

MISTAKES = {  # name: what is done instead
    "inner_eps": "rms_norm_eps (x10 where it is 1e-6) for q_a_layernorm and kv_a_layernorm",
    "outer_eps": "1e-6 (1e-5 where that is right) for the outer norms",
    "key_norm_eps": "1e-5 for the indexer's k_norm",
    "key_norm_bias": "no bias in k_norm",
    "half_rope_index": "half-split instead of interleaved rope in the indexer",
    "half_rope_attention": "half-split instead of interleaved rope in the attention",
    "index_rope_last": "the indexer's rope part is the last one",
    "no_relu": "no ReLU before the heads are weighted",
    "raw_query": "the indexer gets the query before q_a_layernorm",
    "dense_attention": "no index pruning",
    "first_selection": "shared layers use the first full layer's selection",
    "force_current": "the current token is always in the selection",
    "kv_order": "kv_b_proj rows read as [v | nope]",
    "default_theta": "rope_theta 1e6 (1e4 where that is right)",
    "bias_in_weight": "the correction bias leaks into the router weights",
    "no_bias": "no correction bias in the choice",
    "bias_bf16": "the correction bias rounded to bf16",
    "no_scaling": "no routed_scaling_factor",
    "flip_normalise": "norm_topk_prob the other way round",
    "softmax": "softmax instead of sigmoid",
    "no_groups": "no group limit",
    "group_best": "a group's score is its best expert instead of its best two",
    "group_zero": "forbidden groups get 0 instead of -inf",
    "up_gate": "gate and up of the experts swapped",
    "no_shared_expert": "no shared expert",
}


# --- files -----------------------------------------------------------------------------------------------------------


def read_safetensors(path):
    data = path.read_bytes()
    header_bytes = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + header_bytes]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
        values = np.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
        if entry["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = values
    return tensors


def read_weights(folder):
    weights = {}
    for path in sorted(folder.glob("model*.safetensors")):
        weights |= {name: tensor.astype(np.float64) for name, tensor in read_safetensors(path).items()}
    return weights


def indexer_types(config):
    if config.get("indexer_types"):
        return config["indexer_types"]
    freq, offset = config["index_topk_freq"], config["index_skip_topk_offset"]
    return ["full" if max(i - offset + 1, 0) % freq == 0 else "shared" for i in range(config["num_hidden_layers"])]


def is_sparse(config, layer):
    if config.get("mlp_layer_types"):
        return config["mlp_layer_types"][layer] == "sparse"
    return layer >= config["first_k_dense_replace"]


# --- pieces ----------------------------------------------------------------------------------------------------------


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps) * weight + bias


def rope(x, theta, half_split):
    """x [T, heads, size] turned by the angle position * theta^(-2i/size) in the plane of pair i."""
    size = x.shape[-1]
    pair = np.arange(size // 2)
    turn = np.exp(1j * np.arange(x.shape[0])[:, None, None] * theta ** (-2.0 * pair / size))
    first, second = (pair, pair + size // 2) if half_split else (2 * pair, 2 * pair + 1)
    turned = (x[..., first] + 1j * x[..., second]) * turn
    result = np.empty_like(x)
    result[..., first], result[..., second] = turned.real, turned.imag
    return result


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def mlp(x, gate, up, down):
    return (silu(x @ gate.T) * (x @ up.T)) @ down.T


def round_bf16(x):
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32).astype(np.float64)


# --- the model -------------------------------------------------------------------------------------------------------


class Model:
    def __init__(self, folder, mistake=None):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = read_weights(folder)
        self.mistake = mistake
        self.indexer_types = indexer_types(self.config)
        self.theta = self.config["rope_parameters"]["rope_theta"]
        if self.makes("default_theta"):
            self.theta = 1e4 if self.theta == 1e6 else 1e6
        self.outer_eps = self.config["rms_norm_eps"]
        self.inner_eps = 1e-6
        if self.makes("inner_eps"):
            self.inner_eps = 1e-5 if self.outer_eps == 1e-6 else self.outer_eps
        if self.makes("outer_eps"):
            self.outer_eps = 1e-5 if self.outer_eps == 1e-6 else 1e-6

    def makes(self, mistake):
        return self.mistake == mistake

    def index_selection(self, x, query, w):
        """visible[T, T] bool: which keys each row may see."""
        c, (rows, _) = self.config, x.shape
        heads, size, turned = c["index_n_heads"], c["index_head_dim"], c["qk_rope_head_dim"]
        bias = 0 if self.makes("key_norm_bias") else w("indexer.k_norm.bias")
        q = (query @ w("indexer.wq_b.weight").T).reshape(rows, heads, size)
        k = layer_norm(x @ w("indexer.wk.weight").T, w("indexer.k_norm.weight"), bias,
                       1e-5 if self.makes("key_norm_eps") else 1e-6).reshape(rows, 1, size)
        part = slice(size - turned, size) if self.makes("index_rope_last") else slice(0, turned)
        q[..., part] = rope(q[..., part], self.theta, self.makes("half_rope_index"))
        k[..., part] = rope(k[..., part], self.theta, self.makes("half_rope_index"))
        scores = np.einsum("rhd,td->rht", q, k[:, 0]) / np.sqrt(size)
        if not self.makes("no_relu"):
            scores = np.maximum(scores, 0)
        head_weights = x @ w("indexer.weights_proj.weight").T / np.sqrt(heads)
        total = np.einsum("rh,rht->rt", head_weights, scores)
        if self.makes("force_current"):
            np.fill_diagonal(total, np.inf)
        visible = np.zeros((rows, rows), dtype=bool)
        for row in range(rows):
            count = rows if self.makes("dense_attention") else c["index_topk"]
            visible[row, np.argsort(-total[row, :row + 1], kind="stable")[:count]] = True
        return visible

    def attention(self, x, layer, visible):
        c, (rows, _) = self.config, x.shape
        heads, nope, turned, v_size = (c[k] for k in ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim",
                                                      "v_head_dim"))
        w = lambda name: self.weights[f"model.layers.{layer}.self_attn.{name}"]
        raw_query = x @ w("q_a_proj.weight").T
        query = rms_norm(raw_query, w("q_a_layernorm.weight"), self.inner_eps)
        if self.indexer_types[layer] == "full":
            selection = self.index_selection(x, raw_query if self.makes("raw_query") else query, w)
            visible = visible if self.makes("first_selection") and layer > 0 and visible is not None else selection
            self.record[f"layer.{layer}.index_ids"] = selection
        q = (query @ w("q_b_proj.weight").T).reshape(rows, heads, nope + turned)
        joined = x @ w("kv_a_proj_with_mqa.weight").T
        latent = rms_norm(joined[:, :c["kv_lora_rank"]], w("kv_a_layernorm.weight"), self.inner_eps)
        half = self.makes("half_rope_attention")
        q_rope = rope(q[..., nope:], self.theta, half)
        k_rope = rope(joined[:, None, c["kv_lora_rank"]:], self.theta, half)[:, 0]
        kv = (latent @ w("kv_b_proj.weight").T).reshape(rows, heads, nope + v_size)
        k_nope, v = kv[..., :nope], kv[..., nope:]
        if self.makes("kv_order"):
            v, k_nope = kv[..., :v_size], kv[..., v_size:]
        scores = np.einsum("rhd,thd->hrt", q[..., :nope], k_nope) + np.einsum("rhd,td->hrt", q_rope, k_rope)
        weights = softmax(np.where(visible, scores / np.sqrt(nope + turned), -np.inf))
        return np.einsum("hrt,thd->rhd", weights, v).reshape(rows, -1) @ w("o_proj.weight").T, visible

    def route(self, x, layer):
        """expert_ids [T, K] by weight, router_weights [T, K]."""
        c, (rows, _) = self.config, x.shape
        count, groups = c["num_experts_per_tok"], c["n_group"]
        logits = x @ self.weights[f"model.layers.{layer}.mlp.gate.weight"].T
        bias = self.weights[f"model.layers.{layer}.mlp.gate.e_score_correction_bias"]
        scores = softmax(logits) if self.makes("softmax") else 1 / (1 + np.exp(-logits))
        bias = round_bf16(bias) if self.makes("bias_bf16") else bias
        choice = scores + (0 if self.makes("no_bias") else bias)
        if not self.makes("no_groups"):
            grouped = choice.reshape(rows, groups, -1)
            group_scores = np.sort(grouped, axis=-1)[..., -1 if self.makes("group_best") else -2:].sum(axis=-1)
            best_groups = np.argsort(-group_scores, axis=-1)[:, :c["topk_group"]]
            allowed = np.zeros((rows, groups), dtype=bool)
            np.put_along_axis(allowed, best_groups, True, axis=-1)
            filler = 0.0 if self.makes("group_zero") else -np.inf
            choice = np.where(allowed[..., None], grouped, filler).reshape(rows, -1)
        ids = np.argsort(-choice, axis=-1, kind="stable")[:, :count]
        weights = np.take_along_axis(scores + bias if self.makes("bias_in_weight") else scores, ids, axis=-1)
        if c["norm_topk_prob"] != self.makes("flip_normalise"):
            weights = weights / (weights.sum(axis=-1, keepdims=True) + 1e-20)
        weights = weights * (1 if self.makes("no_scaling") else c["routed_scaling_factor"])
        order = np.lexsort((ids, -weights), axis=-1)
        return np.take_along_axis(ids, order, axis=-1), np.take_along_axis(weights, order, axis=-1)

    def expert(self, layer, number):
        stem = f"model.layers.{layer}.mlp.experts."
        if stem + "gate_up_proj" in self.weights:
            gate, up = np.split(self.weights[stem + "gate_up_proj"][number], 2)
            return gate, up, self.weights[stem + "down_proj"][number]
        return tuple(self.weights[f"{stem}{number}.{name}_proj.weight"] for name in ("gate", "up", "down"))

    def dense(self, x, stem):
        return mlp(x, *(self.weights[f"{stem}{name}_proj.weight"] for name in ("gate", "up", "down")))

    def feed_forward(self, x, layer):
        stem = f"model.layers.{layer}.mlp."
        if not is_sparse(self.config, layer):
            return self.dense(x, stem)
        ids, weights = self.route(x, layer)
        self.record[f"layer.{layer}.expert_ids"] = ids
        self.record[f"layer.{layer}.router_weights"] = weights
        out = 0 * x if self.makes("no_shared_expert") else self.dense(x, stem + "shared_experts.")
        for row in range(x.shape[0]):
            for number, weight in zip(ids[row], weights[row]):
                gate, up, down = self.expert(layer, number)
                out[row] += weight * mlp(x[row], *((up, gate) if self.makes("up_gate") else (gate, up)), down)
        return out

    def run(self, token_ids):
        self.record, visible = {}, None
        hidden = self.weights["model.embed_tokens.weight"][token_ids]
        for layer in range(self.config["num_hidden_layers"]):
            norm = lambda x, name: rms_norm(x, self.weights[f"model.layers.{layer}.{name}.weight"], self.outer_eps)
            attended, visible = self.attention(norm(hidden, "input_layernorm"), layer, visible)
            hidden = hidden + attended
            hidden = hidden + self.feed_forward(norm(hidden, "post_attention_layernorm"), layer)
            self.record[f"layer.{layer}.hidden"] = hidden
        final = rms_norm(hidden, self.weights["model.norm.weight"], self.outer_eps)
        self.record["logits"] = final @ self.weights["lm_head.weight"].T
        return self.record


# --- comparing -------------------------------------------------------------------------------------------------------


def index_mask(index_ids):
    rows = len(index_ids)
    mask = np.zeros((rows, rows), dtype=bool)
    for row, ids in enumerate(index_ids):
        mask[row, ids[ids >= 0]] = True
    return mask


def compare(model, golden):
    """Rows with other ids, and the largest differences relative to the tensor's largest value, over all prompts."""
    result = {"expert_rows": 0, "index_rows": 0, "hidden": 0.0, "router_weights": 0.0, "logits": 0.0}
    for key in (k for k in golden if k.endswith("token_ids")):
        prefix = key.removesuffix("token_ids")
        for name, value in model.run(golden[key]).items():
            wanted = golden[prefix + name]
            if name.endswith("expert_ids"):
                result["expert_rows"] += int((value != wanted).any(axis=1).sum())
            elif name.endswith("index_ids"):
                result["index_rows"] += int((value != index_mask(wanted)).any(axis=1).sum())
            else:
                kind = name.split(".")[-1]
                result[kind] = max(result[kind], np.abs(value - wanted).max() / np.abs(wanted).max())
    return result


def print_row(name, result):
    print(f"  {name:20} experts differ in {result['expert_rows']:4} rows, index in {result['index_rows']:4}; "
          + ", ".join(f"{kind} {result[kind]:.1e}" for kind in ("router_weights", "hidden", "logits")))


if __name__ == "__main__":
    for case in sys.argv[1:] or ["base", "groups", "many_experts", "fp16"]:
        golden = read_safetensors(HERE / case / "golden.safetensors")
        rows = sum(len(v) for k, v in golden.items() if k.endswith("token_ids"))
        print(f"{case}: {rows} tokens; differences relative to the largest value")
        print_row("as it should be", compare(Model(HERE / case), golden))
        for mistake in MISTAKES:
            print_row(mistake, compare(Model(HERE / case, mistake), golden))
