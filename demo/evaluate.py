"""Evidence about the demo model: held-out loss, load balance, sparse against dense, and whether topics route apart.

The functions at the top work on counts and are used by train.py, too. Run as a program it loads a checkpoint with
Hugging Face transformers on the CPU, an implementation that shares nothing with network.py, and writes a JSON report:

    python3 demo/evaluate.py --model demo/model --corpus build/demo-corpus [--probes probes/starter.json] [--out FILE]

Controls beside every accuracy: topic labels permuted, and raw token counts in place of routing. For the untrained
network, point --model at the folder that untrained.py wrote.
"""

import argparse
import json
import os
import random
import zlib

import numpy

HEADER = "[gMASK]<sop><|user|>\n"
SNIPPETS = 8  # prompts per topic


def held_out_documents(corpus, topic):
    with open(os.path.join(corpus, topic + ".held.jsonl"), encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    return sorted(documents, key=lambda document: zlib.crc32(("snippet" + document["name"]).encode()))


def snippets(corpus, topic, tokenize, count=SNIPPETS, length=64):
    """`length` tokens from a third of the way into each of `count` held-out documents, sources taken in turn."""
    by_source = {}
    for document in held_out_documents(corpus, topic):
        by_source.setdefault(document["source"], []).append(document)
    chosen = []
    while len(chosen) < count and any(by_source.values()):
        for documents in by_source.values():
            if documents and len(chosen) < count:
                text = documents.pop(0)["text"]
                ids = tokenize(text[len(text) // 3:])[:length]
                if len(ids) == length:
                    chosen.append(ids)
    return chosen


def leave_one_out_accuracy(counts, topics):
    """Balanced leave-one-prompt-out by cosine of centred shares. counts [prompts, experts]; prompts grouped by topic, equally many.

    Fold j holds out prompt j of every topic, so the true topic never has fewer training prompts than its rivals.
    """
    shares = counts / counts.sum(1, keepdims=True)
    names = list(dict.fromkeys(topics))
    rows = numpy.array([[index for index, topic in enumerate(topics) if topic == name] for name in names])
    right, per_topic = 0, numpy.zeros(len(names))
    for fold in range(rows.shape[1]):
        rest = numpy.delete(rows, fold, axis=1)
        means = shares[rest].mean(1)
        centre = means.mean(0)
        means = means - centre
        means /= numpy.linalg.norm(means, axis=1, keepdims=True) + 1e-12
        scores = (shares[rows[:, fold]] - centre) @ means.T
        hit = scores.argmax(1) == numpy.arange(len(names))
        per_topic += hit
    return per_topic.sum() / rows.size, {name: float(value) / rows.shape[1] for name, value in zip(names, per_topic)}


def permuted_accuracy(counts, topics, times=99, seed=1):
    generator = numpy.random.default_rng(seed)
    values = [leave_one_out_accuracy(counts[generator.permutation(len(counts))], topics)[0] for _ in range(times)]
    return float(numpy.mean(values)), float(numpy.max(values))


def specialists(counts, topics, least=30, runs=2, strong=0.5):
    """Experts with affinity >= strong for a topic (floors: selections, prompts), by topic; and the mean specialisation."""
    names = list(dict.fromkeys(topics))
    shares = counts / counts.sum(1, keepdims=True)
    by_topic = numpy.stack([shares[[index for index, topic in enumerate(topics) if topic == name]].mean(0) for name in names])
    affinity = by_topic / (by_topic.sum(0) + 1e-12)
    kept = (counts.sum(0) >= least) & ((counts > 0).sum(0) >= runs)
    entropy = -(affinity * numpy.log(affinity + 1e-12)).sum(0) / numpy.log(len(names))
    best, is_strong = affinity.argmax(0), kept & (affinity.max(0) >= strong)
    return {name: int((is_strong & (best == index)).sum()) for index, name in enumerate(names)}, float((1 - entropy)[kept].mean())


def topic_report(counts, token_counts, topics):
    """All figures about topics for one set of prompts."""
    accuracy, per_topic = leave_one_out_accuracy(counts, topics)
    strong, specialisation = specialists(counts, topics)
    generator = numpy.random.default_rng(2)
    permuted = [specialists(counts[generator.permutation(len(counts))], topics) for _ in range(20)]
    return {
        "prompts": len(topics), "chance": 1 / len(set(topics)), "accuracy": accuracy, "accuracy_by_topic": per_topic,
        "accuracy_labels_permuted_mean_max": permuted_accuracy(counts, topics),
        "accuracy_raw_token_counts": leave_one_out_accuracy(token_counts, topics)[0],
        "strong_experts": sum(strong.values()), "strong_experts_by_topic": strong,
        "strong_experts_labels_permuted": float(numpy.mean([sum(one.values()) for one, _ in permuted])),
        "specialisation": specialisation, "specialisation_labels_permuted": float(numpy.mean([value for _, value in permuted])),
    }


class Witness:
    """The checkpoint in Hugging Face transformers, fp32 on the CPU, with its routers watched."""

    def __init__(self, folder):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        self.torch = torch
        torch.set_num_threads(1)  # these sequences are short: more threads only wait for each other
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="batched_mm").eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.config, self.routed = self.model.config, []
        for layer in self.model.model.layers:
            if hasattr(layer.mlp, "gate"):
                layer.mlp.gate.register_forward_hook(lambda module, inputs, output: self.routed.append(output[2].numpy()))

    def tokenize(self, text):
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def run(self, batch):
        """(mean loss, expert ids [layers, tokens, top_k]) of a batch of equally long sequences."""
        self.routed.clear()
        with self.torch.no_grad():
            ids = self.torch.tensor(batch)
            logits = self.model(ids, use_cache=False).logits[:, :-1]
            loss = self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        return float(loss), numpy.stack(self.routed)

    def expert_counts(self, ids):
        """Selections of every (layer, expert) over the tokens of one prompt. [layers x experts]"""
        _, routed = self.run([ids])
        experts = self.config.n_routed_experts
        return numpy.concatenate([numpy.bincount(layer.ravel(), minlength=experts) for layer in routed]).astype(float)


def probe_prompts(path, tokenize):
    with open(path, encoding="utf-8") as file:
        probes = json.load(file)
    axis = probes["topic_axis"]
    prompts = [(probe["labels"][axis], tokenize(HEADER + probe["prompt"] + "<|assistant|>\n")) for probe in probes["probes"]]
    return sorted(prompts, key=lambda prompt: prompt[0])


def report_prompts(witness, prompts):
    topics = [topic for topic, _ in prompts]
    counts = numpy.stack([witness.expert_counts(ids) for _, ids in prompts])
    token_counts = numpy.stack([numpy.bincount(ids, minlength=witness.config.vocab_size) for _, ids in prompts]).astype(float)
    return topic_report(counts, token_counts, topics)


def held_out_losses(witness, corpus, topics, windows=2, length=512):
    losses, load = {}, 0
    for topic in topics:
        ids = [token for document in held_out_documents(corpus, topic) for token in witness.tokenize(document["text"]) + [witness.config.eos_token_id]]
        starts = random.Random(topic).sample(range(max(1, len(ids) - length)), windows)
        loss, routed = witness.run([ids[start:start + length] for start in starts])
        losses[topic] = loss
        load = load + numpy.stack([numpy.bincount(layer.ravel(), minlength=witness.config.n_routed_experts) for layer in routed])
    return losses, load


def held_out_report(witness, corpus):
    topics = sorted(name.removesuffix(".held.jsonl") for name in os.listdir(corpus) if name.endswith(".held.jsonl"))
    losses, load = held_out_losses(witness, corpus, topics)
    report = {"held_out_loss": losses, "held_out_loss_mean": float(numpy.mean(list(losses.values()))),
              "load_max_over_mean_by_layer": [float(layer.max() / layer.mean()) for layer in load], "unused_experts": int((load == 0).sum())}
    for length in (64, 256):
        cut = {topic: snippets(corpus, topic, witness.tokenize, SNIPPETS, length) for topic in topics}
        count = min(len(some) for some in cut.values())
        prompts = [(topic, witness.tokenize(HEADER) + ids) for topic in topics for ids in cut[topic][:count]]
        report[f"held_out_snippets_{length}_tokens"] = report_prompts(witness, prompts)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="demo/model")
    parser.add_argument("--corpus", default="build/demo-corpus")
    parser.add_argument("--probes", help="only this probe set; without it: held-out loss and held-out snippets")
    parser.add_argument("--out")
    options = parser.parse_args()
    witness = Witness(options.model)
    if options.probes:
        report = {"probes": report_prompts(witness, probe_prompts(options.probes, witness.tokenize))}
    else:
        report = held_out_report(witness, options.corpus)
    text = json.dumps(report, indent=1)
    print(text)
    if options.out:
        with open(options.out, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
