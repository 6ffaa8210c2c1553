"""Trains the demo model on one GPU: dense attention, then the indexer, then everything with sparse attention.

    python3 demo/train.py --corpus build/demo-corpus --tokenizer demo/model/tokenizer.json --out OUT
        [--dense-seconds 420 --distil-seconds 25 --tune-seconds 60] [--resume FOLDER] [--experts 128 --top-k 6 --expert-width 16]

Writes into OUT: the checkpoint (config.json, shards, index), curve.csv (step, seconds, phase, losses) and
training.json (arguments, speed, held-out loss per topic, load, topics). Times are budgets: the learning rate follows
the clock, so a slower machine trains less instead of running over. Needs torch 2.8 or later with CUDA, and tokenizers.
"""

import argparse
import glob
import json
import os
import multiprocessing
import random
import time

import numpy
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import checkpoint
import evaluate
from network import Network, tensor_of

IGNORE = -100


class Text:
    """All topics' tokens, and training rows cut from them."""

    def __init__(self, corpus, tokenizer_path, seed):
        self.tokenizer = Tokenizer.from_file(tokenizer_path)
        self.end = self.tokenizer.token_to_id("<|endoftext|>")
        self.header, self.answer = self.tokenize("[gMASK]<sop><|user|>\n"), self.tokenize("<|assistant|>\n")
        self.topics = sorted(os.path.basename(path).removesuffix(".train.jsonl") for path in glob.glob(os.path.join(corpus, "*.train.jsonl")))
        self.train, self.begins, self.held = [], [], []
        for topic in self.topics:
            tokens, begins = self.read(os.path.join(corpus, topic + ".train.jsonl"))
            self.train.append(tokens)
            self.begins.append(begins)
            self.held.append(self.read(os.path.join(corpus, topic + ".held.jsonl"))[0])
        sizes = numpy.array([len(tokens) for tokens in self.train], float)
        self.weights = numpy.cumsum(sizes ** 0.5 / (sizes ** 0.5).sum())
        self.random = random.Random(seed)

    def tokenize(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def read(self, path):
        """(tokens of all documents, each ended by <|endoftext|>; where documents begin)"""
        with open(path, encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        encoded = [item.ids + [self.end] for item in self.tokenizer.encode_batch(texts, add_special_tokens=False)]
        begins = numpy.cumsum([0] + [len(ids) for ids in encoded])[:-1]
        return numpy.concatenate([numpy.array(ids, numpy.int32) for ids in encoded]), begins

    def piece(self, length):
        """`length` tokens of some topic with their labels; 40 % in the chat template, half of those with an answer's mark."""
        pick = self.random
        topic = int(numpy.searchsorted(self.weights, pick.random()))
        tokens = self.train[topic]
        start = int(pick.choice(self.begins[topic])) if pick.random() < 0.3 else pick.randrange(len(tokens))
        start = min(start, len(tokens) - length)
        ids = tokens[start:start + length].tolist()
        labels = list(ids)
        if pick.random() < 0.4:
            ids = self.header + ids
            labels = [IGNORE] * len(self.header) + labels
            if pick.random() < 0.5:
                cut = pick.randrange(len(self.header) + 8, len(ids) - 8)
                ids[cut:cut] = self.answer
                labels[cut:cut] = [IGNORE] * len(self.answer)
        return ids[:length], labels[:length]

    def row(self, length):
        """One training row: one piece, or (30 %) two of different topics joined at <|endoftext|>, that label masked."""
        if self.random.random() < 0.3:
            cut = self.random.randrange(40, length - 40)
            first, second = self.piece(cut), self.piece(length - cut - 1)
            return first[0] + [self.end] + second[0], first[1] + [IGNORE] + second[1]
        return self.piece(length)

    def batches(self, rows, length, workers=12):
        """Yields (ids, labels) on the GPU, made ahead by forked processes. [rows, length] each, labels shifted"""
        context = multiprocessing.get_context("fork")
        ready = context.Queue(maxsize=4 * workers)

        def work(seed):
            self.random = random.Random(seed)
            while True:
                made = [self.row(length + 1) for _ in range(rows)]
                ready.put((numpy.array([row[0] for row in made], numpy.int16), numpy.array([row[1] for row in made], numpy.int16)))

        processes = [context.Process(target=work, args=(self.random.random(),), daemon=True) for _ in range(workers)]
        for process in processes:
            process.start()
        try:
            while True:
                ids, labels = ready.get()
                yield torch.from_numpy(ids[:, :-1]).cuda().long(), torch.from_numpy(labels[:, 1:].copy()).cuda().long()
        finally:
            for process in processes:
                process.kill()


def optimiser(parameters, rate):
    matrices = [p for p in parameters if p.dim() > 1]
    vectors = [p for p in parameters if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=rate, betas=(0.9, 0.95), fused=True)


def balance(network, rate):
    """The loss-free rule: raise the bias of experts below the mean load, lower the others; keep its mean at 0."""
    for moe in network.moe_layers():
        load = moe.load.float()
        moe.bias += rate * torch.sign(load.mean() - load)
        moe.bias -= moe.bias.mean()


def next_token_loss(network, hidden, labels):
    logits = network.lm_head(hidden.to(torch.bfloat16) if torch.is_autocast_enabled("cuda") else hidden)
    return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORE)


@torch.no_grad()
def held_out_loss(network, text, mode, rows=24, length=512):
    """Loss per topic on the same windows every time, the load per layer, and the share of id rows (as sets) for comparing."""
    network.eval()
    losses, load = {}, 0
    for topic, tokens in zip(text.topics, text.held):
        begins = numpy.linspace(0, max(0, len(tokens) - length - 1), rows).astype(int)
        ids = torch.tensor(numpy.stack([tokens[b:b + length + 1] for b in begins]).astype(numpy.int64)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            hidden, _ = network(ids[:, :-1], mode)
            losses[topic] = float(next_token_loss(network, hidden, ids[:, 1:]))
        load = load + torch.stack([moe.load for moe in network.moe_layers()])
    network.train()
    return losses, load.cpu().numpy()


@torch.no_grad()
def topic_counts(network, text, corpus):
    """Expert and token counts of held-out snippets in the chat template, for evaluate.topic_report."""
    network.eval()
    counts, tokens, topics = [], [], []
    for topic in text.topics:
        for ids in evaluate.snippets(corpus, topic, text.tokenize):
            ids = text.header + ids
            with torch.autocast("cuda", torch.bfloat16):
                network(torch.tensor([ids]).cuda(), "sparse")
            counts.append(torch.cat([moe.load for moe in network.moe_layers()]).cpu().numpy().astype(float))
            tokens.append(numpy.bincount(ids, minlength=network.config["vocab_size"]).astype(float))
            topics.append(topic)
    network.train()
    return evaluate.topic_report(numpy.stack(counts), numpy.stack(tokens), topics)


def save(network, folder):
    def tensor_bytes(name, dtype, shape):
        tensor = tensor_of(network, name).detach()
        if tuple(tensor.shape) != tuple(shape):
            raise ValueError(f"{name}: shape {tuple(tensor.shape)}, expected {shape}")
        tensor = tensor.float() if dtype == "F32" else tensor.to(torch.bfloat16).view(torch.int16)
        return tensor.cpu().contiguous().numpy().tobytes()

    checkpoint.write_checkpoint(folder, network.config, tensor_bytes)


def load(network, folder):
    """Fills the network from a checkpoint that save() wrote."""
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            data = file.read()
        for name, entry in header.items():
            if name != "__metadata__":
                kind = torch.float32 if entry["dtype"] == "F32" else torch.bfloat16
                values = torch.frombuffer(bytearray(data[slice(*entry["data_offsets"])]), dtype=kind).view(entry["shape"])
                with torch.no_grad():
                    tensor_of(network, name).copy_(values)


class Run:
    """What the phases share: the network, the text, the clock and the curve."""

    def __init__(self, options):
        self.options, self.begin = options, time.time()
        torch.manual_seed(options.seed)
        torch.set_float32_matmul_precision("high")
        self.text = Text(options.corpus, options.tokenizer, options.seed)
        config = checkpoint.demo_config(options.experts, options.top_k, options.expert_width)
        self.network = Network(config).cuda().train()
        if options.resume:
            load(self.network, options.resume)
        self.curve, self.notes, self.step = [], {"arguments": {k: v for k, v in vars(options).items() if k not in ("corpus", "tokenizer", "out")}, "parameters": checkpoint.parameter_count(config)}, 0
        self.notes["train_tokens"] = {topic: len(tokens) for topic, tokens in zip(self.text.topics, self.text.train)}
        print(f"{self.notes['parameters']:,} parameters, {sum(self.notes['train_tokens'].values()):,} tokens, "
              f"read in {time.time() - self.begin:.0f} s", flush=True)

    def phase(self, name, seconds, rate, rows, length, mode, parameters, balance_rate, loss_of):
        """Runs one phase for so many seconds: 2 % warm-up, cosine to 5 % by the clock."""
        if seconds <= 0:
            return
        forward = torch.compile(self.network) if self.options.compile and mode == "dense" else self.network
        parameters = list(parameters)
        adam, began, spent, tokens = optimiser(parameters, rate), None, 0.0, 0
        next_log, next_check = 0.0, 0.2
        batches = self.text.batches(rows, length)
        for ids, labels in batches:
            if began is not None:
                spent = (time.time() - began) / seconds
            if spent >= 1.0:
                batches.close()
                break
            factor = min(1.0, spent / 0.02 + 0.01) * (0.05 + 0.95 * 0.5 * (1 + numpy.cos(numpy.pi * spent)))
            for group in adam.param_groups:
                group["lr"] = rate * factor
            with torch.autocast("cuda", torch.bfloat16):
                loss, shown = loss_of(forward, ids, labels, mode)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            adam.step()
            self.network.zero_grad(set_to_none=True)
            if balance_rate:
                balance(self.network, balance_rate * (0.2 if spent > 0.85 else 1.0))
            self.step += 1
            tokens += ids.numel()
            if began is None:
                torch.cuda.synchronize()
                began = time.time()  # the first step compiles and loads kernels: not counted
            if spent >= next_log:
                next_log += 0.02
                self.curve.append((self.step, round(time.time() - self.begin, 1), name, round(float(shown), 4), ""))
            if spent >= next_check:
                next_check += 0.2
                losses, load = held_out_loss(self.network, self.text, "dense" if mode == "dense" else "sparse")
                mean = sum(losses.values()) / len(losses)
                self.curve.append((self.step, round(time.time() - self.begin, 1), name, round(float(shown), 4), round(mean, 4)))
                self.notes.setdefault("checks", []).append({"phase": name, "step": self.step, "held_out_loss": losses})
                print(f"{name} {self.step} {time.time() - self.begin:.0f} s: {tokens / (time.time() - began) / 1e3:.0f} k tokens/s, train {float(shown):.3f}, "
                      f"held out {mean:.3f}, load max/mean {(load.max(1) / load.mean(1)).max():.2f}, unused {(load == 0).sum()}", flush=True)
        self.notes[name] = {"steps": self.step, "tokens": tokens, "seconds": time.time() - began}

    def report(self, name, mode):
        losses, load = held_out_loss(self.network, self.text, mode)
        self.notes[name] = {"held_out_loss": losses, "held_out_loss_mean": sum(losses.values()) / len(losses),
                            "load_max_over_mean_by_layer": (load.max(1) / load.mean(1)).tolist(), "unused_experts": int((load == 0).sum())}
        print(name, f"{self.notes[name]['held_out_loss_mean']:.4f}", flush=True)

    def write(self):
        save(self.network, self.options.out)
        with open(os.path.join(self.options.out, "curve.csv"), "w") as file:
            file.write("step,seconds,phase,train_loss,held_out_loss\n")
            file.writelines(",".join(map(str, row)) + "\n" for row in self.curve)
        checkpoint.write_json(os.path.join(self.options.out, "training.json"), self.notes)


def language_loss(run):
    def loss_of(forward, ids, labels, mode):
        hidden, index_loss = forward(ids, mode)
        loss = next_token_loss(run.network, hidden, labels)
        return (loss if index_loss is None else loss + index_loss), loss.detach()
    return loss_of


def index_only_loss(forward, ids, labels, mode):
    _, index_loss = forward(ids, mode)
    return index_loss, index_loss.detach()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", default="build/demo-corpus")
    parser.add_argument("--tokenizer", default="demo/model/tokenizer.json")
    parser.add_argument("--out", required=True)
    parser.add_argument("--dense-seconds", type=float, default=420)
    parser.add_argument("--distil-seconds", type=float, default=25)
    parser.add_argument("--tune-seconds", type=float, default=60)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--experts", type=int, default=128)
    parser.add_argument("--top-k", type=int, default=6)
    parser.add_argument("--expert-width", type=int, default=16)
    parser.add_argument("--resume", help="folder with a checkpoint to start from instead of noise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    run = Run(options)
    network = run.network
    if not options.resume:
        run.notes["topics_untrained"] = topic_counts(network, run.text, options.corpus)

    index = [p for name, p in network.named_parameters() if ".indexer." in name]
    rest = [p for name, p in network.named_parameters() if ".indexer." not in name]
    run.phase("dense", options.dense_seconds, options.rate, options.rows, 512, "dense", rest, 1e-3, language_loss(run))
    run.report("dense attention", "dense")
    run.report("sparse attention, untrained indexer", "sparse")
    run.write()

    for parameter in rest:
        parameter.requires_grad_(False)
    run.phase("distil", options.distil_seconds, 1e-3, 32, 512, "distil", index, 0.0, index_only_loss)
    for parameter in rest:
        parameter.requires_grad_(True)
    run.report("sparse attention, distilled indexer", "sparse")
    run.phase("tune", options.tune_seconds, options.rate * 0.1, 32, 1024, "sparse", network.parameters(), 2e-4, language_loss(run))
    run.report("sparse attention, tuned", "sparse")
    run.report("dense attention, tuned", "dense")
    run.notes["topics"] = topic_counts(network, run.text, options.corpus)
    run.write()
    print(json.dumps({key: run.notes[key] for key in ("sparse attention, tuned", "topics")}, indent=1))


if __name__ == "__main__":
    main()
