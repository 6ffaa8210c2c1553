"""The demo model's network for training: glm_moe_dsa in plain torch, in the order of the paper's boxes.

Parameter names follow the checkpoint, except that a layer's experts are stacked ([experts, 2 x width, hidden] and
[experts, hidden, width]) so that one grouped product serves them all. Three ways to attend: "dense" (causal),
"sparse" (the indexer's choice, as in use) and "distil" (dense, and the indexer's loss against the attention it must
predict). The router works in fp32 outside autocast, as in Hugging Face's code.
"""

import torch
import torch.nn.functional as F
from torch import nn

grouped_mm = getattr(F, "grouped_mm", None) or torch._grouped_mm


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, self.eps)


def rotate(x, cos, sin):
    """Interleaved rotation; the result lies de-interleaved, alike for queries and keys."""
    even, odd = x[..., 0::2].float(), x[..., 1::2].float()
    return torch.cat((even * cos - odd * sin, odd * cos + even * sin), -1)


class Indexer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.size, self.rope = config["index_n_heads"], config["index_head_dim"], config["qk_rope_head_dim"]
        self.wq_b = nn.Linear(config["q_lora_rank"], self.heads * self.size, bias=False)
        self.wk = nn.Linear(config["hidden_size"], self.size, bias=False)
        self.k_norm = nn.LayerNorm(self.size, eps=1e-6)
        self.weights_proj = nn.Linear(config["hidden_size"], self.heads, bias=False)

    def forward(self, x, query_latent, cos, sin):
        """Scores of every earlier token for every token, fp32. [batch, time, time], future at -inf"""
        batch, time, _ = x.shape
        q = self.wq_b(query_latent).view(batch, time, self.heads, self.size).float()
        k = self.k_norm(self.wk(x).float())
        q = torch.cat((rotate(q[..., :self.rope], cos[:, None], sin[:, None]), q[..., self.rope:]), -1)
        k = torch.cat((rotate(k[..., :self.rope], cos, sin), k[..., self.rope:]), -1)
        weights = self.weights_proj(x).float() * self.heads ** -0.5
        scores = F.relu(torch.einsum("bthd,bsd->bhts", q, k) * self.size ** -0.5)
        scores = torch.einsum("bhts,bth->bts", scores, weights)
        future = torch.ones(time, time, dtype=torch.bool, device=x.device).triu(1)
        return scores.masked_fill(future, float("-inf"))


class Attention(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.heads, self.nope, self.rope = config["num_attention_heads"], config["qk_nope_head_dim"], config["qk_rope_head_dim"]
        self.value, self.latent, self.top_k = config["v_head_dim"], config["kv_lora_rank"], config["index_topk"]
        hidden, query_rank = config["hidden_size"], config["q_lora_rank"]
        self.q_a_proj = nn.Linear(hidden, query_rank, bias=False)
        self.q_a_layernorm = RMSNorm(query_rank, 1e-6)
        self.q_b_proj = nn.Linear(query_rank, self.heads * (self.nope + self.rope), bias=False)
        self.kv_a_proj_with_mqa = nn.Linear(hidden, self.latent + self.rope, bias=False)
        self.kv_a_layernorm = RMSNorm(self.latent, 1e-6)
        self.kv_b_proj = nn.Linear(self.latent, self.heads * (self.nope + self.value), bias=False)
        self.o_proj = nn.Linear(self.heads * self.value, hidden, bias=False)
        self.indexer = Indexer(config) if config["indexer_types"][layer] == "full" else None

    def forward(self, x, cos, sin, mode, carried):
        """carried: what the latest full layer chose (sparse: mask; distil: its scores). Returns (output, carried, probabilities)."""
        batch, time, _ = x.shape
        query_latent = self.q_a_layernorm(self.q_a_proj(x))
        q = self.q_b_proj(query_latent).view(batch, time, self.heads, self.nope + self.rope).transpose(1, 2)
        latent, k_rope = self.kv_a_proj_with_mqa(x).split((self.latent, self.rope), -1)
        kv = self.kv_b_proj(self.kv_a_layernorm(latent)).view(batch, time, self.heads, self.nope + self.value).transpose(1, 2)
        k_nope, v = kv.split((self.nope, self.value), -1)
        k_rope = rotate(k_rope, cos, sin).to(kv.dtype)[:, None].expand(-1, self.heads, -1, -1)
        k = torch.cat((k_nope, k_rope), -1)
        q = torch.cat((q[..., :self.nope], rotate(q[..., self.nope:], cos, sin).to(q.dtype)), -1)

        probabilities = None
        if mode == "dense":
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            if self.indexer is not None:
                detached = (x.detach(), query_latent.detach()) if self.training else (x, query_latent)
                scores = self.indexer(*detached, cos, sin)
                with torch.no_grad():
                    chosen = scores.topk(min(self.top_k, time), -1).indices
                    mask = torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, chosen, True) & (scores > float("-inf"))
                carried = (scores, mask)
            if mode == "distil":
                out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                out = F.scaled_dot_product_attention(q, k, v, attn_mask=carried[1][:, None].expand(-1, self.heads, -1, -1))
            if self.training:
                with torch.no_grad():
                    weight = (q.float() @ k.float().transpose(-1, -2)) * (self.nope + self.rope) ** -0.5
                    future = torch.ones(time, time, dtype=torch.bool, device=x.device).triu(1)
                    probabilities = weight.masked_fill(future, float("-inf")).softmax(-1).mean(1)
        return self.o_proj(out.transpose(1, 2).reshape(batch, time, -1)), carried, probabilities


class MLP(nn.Module):
    def __init__(self, hidden, width):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, width, bias=False)
        self.up_proj = nn.Linear(hidden, width, bias=False)
        self.down_proj = nn.Linear(width, hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class MoE(nn.Module):
    def __init__(self, config):
        super().__init__()
        experts, hidden, width = config["n_routed_experts"], config["hidden_size"], config["moe_intermediate_size"]
        self.top_k, self.scale, self.experts = config["num_experts_per_tok"], config["routed_scaling_factor"], experts
        self.router = nn.Parameter(torch.empty(experts, hidden))
        self.register_buffer("bias", torch.zeros(experts))
        self.gate_up = nn.Parameter(torch.empty(experts, 2 * width, hidden))
        self.down = nn.Parameter(torch.empty(experts, hidden, width))
        self.shared_experts = MLP(hidden, width * config["n_shared_experts"])
        self.load = None  # selections of each expert in the last forward. [experts]
        self.expert_ids = None  # [tokens, top_k]

    def route(self, x):
        with torch.autocast("cuda", enabled=False):
            scores = F.linear(x.float(), self.router.float()).sigmoid()
        ids = (scores + self.bias).topk(self.top_k, -1, sorted=False).indices
        weights = scores.gather(1, ids)
        return ids, weights / (weights.sum(-1, keepdim=True) + 1e-20) * self.scale

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        ids, weights = self.route(flat)
        order = ids.flatten().argsort(stable=True)
        load = torch.bincount(ids.flatten(), minlength=self.experts)
        self.load, self.expert_ids = load, ids
        ends = load.cumsum(0).to(torch.int32)
        rows = flat.bfloat16()[order // self.top_k]
        gate, up = grouped_mm(rows, self.gate_up.bfloat16().transpose(1, 2), offs=ends).chunk(2, -1)
        rows = grouped_mm(F.silu(gate) * up, self.down.bfloat16().transpose(1, 2), offs=ends)
        back = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        mixed = (rows[back].view(-1, self.top_k, flat.shape[-1]).float() * weights[..., None]).sum(1)
        return (mixed + self.shared_experts(flat).float()).view_as(x)


class Layer(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.input_layernorm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        dense = config["mlp_layer_types"][layer] == "dense"
        self.mlp = MLP(config["hidden_size"], config["intermediate_size"]) if dense else MoE(config)

    def forward(self, x, cos, sin, mode, carried):
        attended, carried, probabilities = self.self_attn(self.input_layernorm(x), cos, sin, mode, carried)
        x = x + attended.float()
        return x + self.mlp(self.post_attention_layernorm(x)).float(), carried, probabilities


class Network(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(Layer(config, layer) for layer in range(config["num_hidden_layers"]))
        self.norm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        self.lm_head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0.0, config["initializer_range"])

    def moe_layers(self):
        return [layer.mlp for layer in self.layers if isinstance(layer.mlp, MoE)]

    def forward(self, ids, mode="dense"):
        """Returns (hidden states after the last norm, the indexers' loss or None)."""
        rope = self.config["qk_rope_head_dim"]
        frequency = self.config["rope_parameters"]["rope_theta"] ** (-torch.arange(0, rope, 2, device=ids.device).float() / rope)
        angle = torch.arange(ids.shape[1], device=ids.device).float()[:, None] * frequency
        cos, sin = angle.cos(), angle.sin()
        x, carried, groups = self.embed_tokens(ids).float(), None, []
        for layer in self.layers:
            x, carried, probabilities = layer(x, cos, sin, mode, carried)
            if probabilities is not None:
                if layer.self_attn.indexer is not None:
                    groups.append((carried[0], []))
                groups[-1][1].append(probabilities)
        index_loss = None
        for scores, targets in groups:
            target = torch.stack(targets).mean(0)
            loss = -(target * scores.log_softmax(-1).masked_fill(scores == float("-inf"), 0.0)).sum(-1).mean()
            index_loss = loss if index_loss is None else index_loss + loss
        return self.norm(x), index_loss


def tensor_of(network, name):
    """The tensor that a checkpoint name means, cut out of the stacked experts where need be."""
    parts = name.removeprefix("model.").split(".")
    if parts[-2:] == ["gate", "weight"]:
        return network.layers[int(parts[1])].mlp.router
    if parts[-1] == "e_score_correction_bias":
        return network.layers[int(parts[1])].mlp.bias
    if "experts" in parts:
        mlp, expert, which = network.layers[int(parts[1])].mlp, int(parts[4]), parts[5]
        if which == "down_proj":
            return mlp.down[expert]
        half = mlp.gate_up.shape[1] // 2
        return mlp.gate_up[expert, :half] if which == "gate_proj" else mlp.gate_up[expert, half:]
    return dict(network.named_parameters())[".".join(parts)]
