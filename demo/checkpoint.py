"""The demo model's shape and its files: configuration, tensor names and shapes, and a safetensors writer.

train.py fills them with trained weights, untrained.py with seeded noise. Standard library only, because untrained.py
must run on a fresh machine. Names and dtypes are those of Hugging Face's per-expert GLM layout: bf16, except the
router's weight and its correction bias in F32, as a bf16 load keeps them.
"""

import json
import os

SHARD_BYTES = 11_900_000


def demo_config(experts=128, top_k=6, expert_width=16, hidden=160, layers=7, vocabulary=8192):
    """config.json: one dense layer, then MoE layers; four layers run an indexer, three share the last one's choice."""
    indexer_types = ["full", "full", "full", "shared", "shared", "full", "shared"][:layers]
    return {
        "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype": "bfloat16",
        "vocab_size": vocabulary, "hidden_size": hidden, "num_hidden_layers": layers, "intermediate_size": 512,
        "first_k_dense_replace": 1, "mlp_layer_types": ["dense"] + ["sparse"] * (layers - 1), "moe_layer_freq": 1,
        "n_routed_experts": experts, "num_experts_per_tok": top_k, "moe_intermediate_size": expert_width, "n_shared_experts": 1,
        "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
        "scoring_func": "sigmoid", "topk_method": "noaux_tc",
        "num_attention_heads": 6, "num_key_value_heads": 6, "q_lora_rank": 96, "kv_lora_rank": 64,
        "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "qk_head_dim": 48, "v_head_dim": 32, "head_dim": 16,
        "index_n_heads": 16, "index_head_dim": 64, "index_topk": 64, "indexer_types": indexer_types,
        "index_topk_freq": 3, "index_skip_topk_offset": 3, "indexer_rope_interleave": True,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "rope_interleave": True,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "hidden_act": "silu", "initializer_range": 0.02,
        "attention_bias": False, "attention_dropout": 0.0, "mlp_bias": False, "tie_word_embeddings": False,
        "use_cache": True, "bos_token_id": None, "eos_token_id": vocabulary - 7, "pad_token_id": vocabulary - 7,
    }


def tensor_shapes(config):
    """Every tensor of the checkpoint in file order: name -> (dtype, shape)."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    nope, rope, value = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
    query_rank, latent = config["q_lora_rank"], config["kv_lora_rank"]
    index_heads, index_dim = config["index_n_heads"], config["index_head_dim"]
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        attention = prefix + "self_attn."
        shapes[prefix + "input_layernorm.weight"] = (hidden,)
        shapes[attention + "q_a_proj.weight"] = (query_rank, hidden)
        shapes[attention + "q_a_layernorm.weight"] = (query_rank,)
        shapes[attention + "q_b_proj.weight"] = (heads * (nope + rope), query_rank)
        shapes[attention + "kv_a_proj_with_mqa.weight"] = (latent + rope, hidden)
        shapes[attention + "kv_a_layernorm.weight"] = (latent,)
        shapes[attention + "kv_b_proj.weight"] = (heads * (nope + value), latent)
        shapes[attention + "o_proj.weight"] = (hidden, heads * value)
        if config["indexer_types"][layer] == "full":
            shapes[attention + "indexer.wq_b.weight"] = (index_heads * index_dim, query_rank)
            shapes[attention + "indexer.wk.weight"] = (index_dim, hidden)
            shapes[attention + "indexer.k_norm.weight"] = (index_dim,)
            shapes[attention + "indexer.k_norm.bias"] = (index_dim,)
            shapes[attention + "indexer.weights_proj.weight"] = (index_heads, hidden)
        shapes[prefix + "post_attention_layernorm.weight"] = (hidden,)
        mlps = {}
        if config["mlp_layer_types"][layer] == "dense":
            mlps["mlp."] = config["intermediate_size"]
        else:
            shapes[prefix + "mlp.gate.weight"] = (config["n_routed_experts"], hidden)
            shapes[prefix + "mlp.gate.e_score_correction_bias"] = (config["n_routed_experts"],)
            for expert in range(config["n_routed_experts"]):
                mlps[f"mlp.experts.{expert}."] = config["moe_intermediate_size"]
            mlps["mlp.shared_experts."] = config["moe_intermediate_size"] * config["n_shared_experts"]
        for name, width in mlps.items():
            shapes[prefix + name + "gate_proj.weight"] = (width, hidden)
            shapes[prefix + name + "up_proj.weight"] = (width, hidden)
            shapes[prefix + name + "down_proj.weight"] = (hidden, width)
    shapes["model.norm.weight"] = (hidden,)
    shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return {name: ("F32" if ".mlp.gate." in name else "BF16", shape) for name, shape in shapes.items()}


def element_count(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def parameter_count(config):
    return sum(element_count(shape) for _, shape in tensor_shapes(config).values())


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
        file.write("\n")


def write_checkpoint(folder, config, tensor_bytes):
    """Writes config.json, the shards and their index; tensor_bytes(name, dtype, shape) gives a tensor's raw bytes."""
    os.makedirs(folder, exist_ok=True)
    shards, size = [[]], 0
    for name, (dtype, shape) in tensor_shapes(config).items():
        byte_count = element_count(shape) * (4 if dtype == "F32" else 2)
        if size + byte_count > SHARD_BYTES and shards[-1]:
            shards.append([])
            size = 0
        shards[-1].append((name, dtype, shape, byte_count))
        size += byte_count
    weight_map, total = {}, 0
    for number, tensors in enumerate(shards, 1):
        file_name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for name, dtype, shape, byte_count in tensors:
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + byte_count]}
            weight_map[name] = file_name
            offset += byte_count
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(folder, file_name), "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name, dtype, shape, byte_count in tensors:
                data = tensor_bytes(name, dtype, shape)
                if len(data) != byte_count:
                    raise ValueError(f"{name}: {len(data)} bytes given, {byte_count} expected")
                file.write(data)
        total += offset
    write_json(os.path.join(folder, "model.safetensors.index.json"), {"metadata": {"total_size": total}, "weight_map": weight_map})
    write_json(os.path.join(folder, "config.json"), config)
