"""The tiny `glm_moe_dsa` checkpoints: what each one is made of and how its weights are drawn.

Filled in by hand; read by make.py. Every size of a case differs from the others it could be mistaken for
(hidden_size, q_lora_rank, kv_lora_rank, heads x head sizes, ...), so that a transposed or swapped read fails.
"""

from dataclasses import dataclass, field

import torch


@dataclass
class Case:
    name: str
    proves: str  # one sentence, goes to golden.json
    config: dict  # keyword arguments of GlmMoeDsaConfig
    prompt_lengths: list  # tokens of each prompt
    decode_lengths: list  # tokens of each prompt that is continued greedily
    dtype: torch.dtype = torch.float32  # of the weights on disk; e_score_correction_bias is always F32
    bias: str = "mixed"  # how e_score_correction_bias is drawn, see draw_bias
    fused_experts: bool = False  # mlp.experts.gate_up_proj / down_proj on disk instead of one tensor per expert
    max_shard_size: str = "1GB"
    mtp_layer: bool = False  # write the surplus tensors of a multi-token-prediction layer
    drop_keys: list = field(default_factory=list)  # keys of config.json that HF writes and this case does without
    add_keys: dict = field(default_factory=dict)  # keys of config.json that HF does not write
    model_seed: int = 1  # first seed tried


# Keys of the published GLM-5.x config.json that HF neither needs nor writes; all have their only valid value here.
PUBLISHED_KEYS = {
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
    "moe_layer_freq": 1,
    "rope_interleave": True,
    "indexer_rope_interleave": True,
    "moe_router_dtype": "float32",
}

COMMON = dict(
    n_shared_experts=1,
    max_position_embeddings=512,
    tie_word_embeddings=False,
    initializer_range=0.02,
    bos_token_id=None,
    pad_token_id=None,
    use_cache=True,
)

CASES = [
    Case(
        name="base",
        proves="dense, sparse, full and shared layers; index pruning; sharded fp32 with one tensor per expert",
        config=dict(
            COMMON, vocab_size=71, hidden_size=34, intermediate_size=45, moe_intermediate_size=7, num_hidden_layers=5,
            num_attention_heads=3, num_key_value_heads=3, n_routed_experts=12, num_experts_per_tok=3,
            routed_scaling_factor=2.5, norm_topk_prob=True, n_group=1, topk_group=1, q_lora_rank=22, kv_lora_rank=13,
            qk_nope_head_dim=9, qk_rope_head_dim=6, v_head_dim=11, index_n_heads=8, index_head_dim=10, index_topk=6,
            indexer_types=["full", "full", "shared", "full", "shared"], first_k_dense_replace=1, rms_norm_eps=1e-5,
            mlp_layer_types=["dense", "sparse", "sparse", "sparse", "sparse"], eos_token_id=[70, 68],
            rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
        ),
        prompt_lengths=[31, 44, 7, 6, 1], decode_lengths=[3, 12], max_shard_size="110KB", model_seed=100,
    ),
    Case(
        name="groups",
        proves="expert groups with negative scores, fused experts, schedule by freq/offset, a surplus MTP layer, "
               "weights not normalised, config without the keys that HF derives",
        config=dict(
            COMMON, vocab_size=67, hidden_size=38, intermediate_size=41, moe_intermediate_size=6, num_hidden_layers=6,
            num_attention_heads=2, num_key_value_heads=2, n_routed_experts=12, num_experts_per_tok=4,
            routed_scaling_factor=1.7, norm_topk_prob=False, n_group=2, topk_group=1, q_lora_rank=21, kv_lora_rank=15,
            qk_nope_head_dim=10, qk_rope_head_dim=8, v_head_dim=13, index_n_heads=9, index_head_dim=14, index_topk=5,
            index_topk_freq=3, index_skip_topk_offset=2, first_k_dense_replace=2, rms_norm_eps=2e-5, eos_token_id=66,
            rope_parameters={"rope_theta": 8000000.0, "rope_type": "default"},
        ),
        prompt_lengths=[29, 38, 6, 3], decode_lengths=[2, 11], bias="negative", fused_experts=True, mtp_layer=True,
        drop_keys=["indexer_types", "layer_types", "mlp_layer_types", "qk_head_dim"],
        add_keys=dict(PUBLISHED_KEYS, num_nextn_predict_layers=1, index_share_for_mtp_iteration=True,
                      index_topk_freq=3, index_skip_topk_offset=2, index_topk_pattern=None, head_dim=192),
        model_seed=200,
    ),
    Case(
        name="many_experts",
        proves="96 experts, top-8, bf16 on disk, biases near 7 that bf16 would round together",
        config=dict(
            COMMON, vocab_size=73, hidden_size=26, intermediate_size=37, moe_intermediate_size=5, num_hidden_layers=4,
            num_attention_heads=3, num_key_value_heads=3, n_routed_experts=96, num_experts_per_tok=8,
            routed_scaling_factor=2.5, norm_topk_prob=True, n_group=1, topk_group=1, q_lora_rank=17, kv_lora_rank=12,
            qk_nope_head_dim=7, qk_rope_head_dim=4, v_head_dim=9, index_n_heads=16, index_head_dim=11, index_topk=8,
            indexer_types=["full", "shared", "full", "shared"], first_k_dense_replace=1, rms_norm_eps=1e-5,
            mlp_layer_types=["dense", "sparse", "sparse", "sparse"], eos_token_id=[72],
            rope_parameters={"rope_theta": 1000000.0, "rope_type": "default"},
        ),
        prompt_lengths=[28, 33, 9, 4], decode_lengths=[4, 13], dtype=torch.bfloat16, bias="near_seven",
        add_keys=PUBLISHED_KEYS, model_seed=300,
    ),
    Case(
        name="fp16",
        proves="fp16 on disk, attention never pruned, every layer its own indexer, a dense layer after a sparse one, "
               "two shared experts",
        config=dict(
            COMMON, vocab_size=64, hidden_size=30, intermediate_size=39, moe_intermediate_size=8, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=4, n_routed_experts=10, num_experts_per_tok=2,
            routed_scaling_factor=1.3, norm_topk_prob=True, n_group=1, topk_group=1, q_lora_rank=19, kv_lora_rank=14,
            qk_nope_head_dim=8, qk_rope_head_dim=10, v_head_dim=12, index_n_heads=8, index_head_dim=16, index_topk=64,
            indexer_types=["full", "full", "full"], first_k_dense_replace=1, rms_norm_eps=1e-6,
            mlp_layer_types=["sparse", "dense", "sparse"], eos_token_id=[63],
            rope_parameters={"rope_theta": 1000000.0, "rope_type": "default"},
        ) | dict(n_shared_experts=2),
        prompt_lengths=[28, 35, 10, 2], decode_lengths=[5, 9], dtype=torch.float16, model_seed=400,
    ),
]


def draw_bias(kind, shape, random):
    """e_score_correction_bias: `mixed` signs, `negative` (biased scores below zero, so that a group limit that writes
    0 instead of -inf chooses forbidden experts), `near_seven` (the range seen in published weights)."""
    noise = torch.randn(shape, generator=random)
    return {"mixed": 0.3 * noise, "negative": -1.0 + 0.3 * noise, "near_seven": 6.94 + 0.05 * noise}[kind]


def draw_weight(name, shape, config, bias_kind, random):
    """One tensor. No neutral value is left: norm weights are around 1, biases are not 0. Projections before a norm are
    so small that its eps matters, and branches are small so that the eps of the outer norms matters in every layer."""
    noise = torch.randn(shape, generator=random)
    if name.endswith("e_score_correction_bias"):
        return draw_bias(bias_kind, shape, random)
    if name.endswith("k_norm.bias"):
        return 0.3 * noise
    if "norm" in name:
        return 1 + 0.2 * noise
    if name.endswith("embed_tokens.weight"):
        return 0.01 * noise
    gain = noise / shape[-1] ** 0.5  # keeps the size of a vector of ones
    if name.endswith("q_a_proj.weight"):
        return 0.005 * gain
    if name.endswith("kv_a_proj_with_mqa.weight"):  # latent rows go through a norm, rope rows do not
        gain[: config.kv_lora_rank] *= 0.005
        gain[config.kv_lora_rank:] *= 1.5
        return gain
    if name.endswith("indexer.wk.weight"):
        return 0.005 * gain
    if name.endswith("o_proj.weight") or name.endswith("down_proj.weight") or name.endswith("mlp.experts.down_proj"):
        return 0.03 * gain
    if name.endswith("lm_head.weight") or name.endswith("mlp.gate.weight"):
        return 1.5 * gain
    return 1.2 * gain
