"""Makes a tiny GLM-like tokenizer with chat template and the golden values of transformers for both.

Made with Python 3.11, transformers 5.17.0, tokenizers 0.23.3, jinja2 3.1.6. Run:  python make.py
Writes glm_like/tokenizer.json, glm_like/tokenizer_config.json (the template of chat_template.jinja is inside) and
golden.json: texts with their ids, offsets and decoded forms, and conversations as apply_chat_template renders them.

A text or conversation has `ids`, `offsets_characters` and `offsets_bytes` ([begin, end) of each token in the text or in
`rendered`); a conversation that the template refuses has `error` instead.

The tokenizer is a byte-level BPE of 400 tokens with GLM-4's splitting expression, trained on the sentences below, which
were written for this file. Nothing is random; a second run gives the same bytes.
"""

import json
import shutil
from pathlib import Path

import tokenizers
import transformers
from jinja2.exceptions import TemplateError
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

HERE = Path(__file__).parent
FOLDER = HERE / "glm_like"
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")
SPECIAL = ["<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"]
PLAIN_ADDED = ["<think>", "</think>"]  # added, yet not special: kept when special tokens are skipped
VOCAB_SIZE = 400

TRAINING_TEXT = [
    "The router sends each token of a prompt to a few experts, and the atlas counts which experts serve which topics.",
    "There are thirty ways to bake bread; the oldest of them needs nothing other than flour, water and patience.",
    "Der Router schickt jedes Wort zu einigen Experten. Über die Brücke gehen täglich viele Menschen zur Arbeit.",
    "Le routeur envoie chaque mot à quelques experts; l'été, les élèves apprennent à nager près de la forêt.",
    "Маленький город стоит на берегу реки, и каждый вечер там горит свет.",
    "路由器把每个词送到几个专家那里。我们今天去学校学习中文。",
    "def count_tokens(text):\n    return len(text.split())\n\nfor i in range(10):\n    print(i, count_tokens(str(i)))\n",
    "In 1969 and 2024 the count was 12345; it isn't what they'll expect, we've seen.",
]

TEXTS = {
    "empty": "",
    "one letter": "a",
    "plain": "The router sends each token to experts.",
    "contractions": "It isn't what THEY'LL expect; we've SEEN 'Re.",
    "numbers": "In 2024 the count was 1234567, not 3.14159 or ٣٤٥.",
    "spaces": "  two  spaces   then\ttab \t end  ",
    "line ends": "a\nb\r\nc\n\n\nd \n e\r",
    "german and french": "Über die Brücke; l'été à Genève",
    "combining marks": "e\u0301te\u0301 and \u00e9t\u00e9 are not the same",
    "russian": "Маленький город",
    "arabic": "السلام عليكم، كيف الحال؟",
    "chinese and japanese": "我们今天去学校。東京タワー",
    "korean and thai": "안녕하세요 สวัสดี",
    "emoji": "🙂 family 👨\u200d👩\u200d👧 flag 🇩🇪 thumb 👍🏽.",
    "code": "for i in range(10):\n    print(i, str(i))\n",
    "odd characters": "zero\u0000null\u00a0nbsp\u200bzwsp\ufeffbom \U0001d54f \ufffd",
    "special tokens": "[gMASK]<sop><|user|>Hi<|assistant|>",
    "special tokens inside text": "write <|user|> or [gMASK] in é text<|endoftext|> 🙂<sop>x",
    "broken special tokens": "<|user|<|user |><|User|>[gMASK <sop",
    "thought": "<|assistant|><think>hm</think>\nYes",
}

USER = {"role": "user", "content": "How many experts serve 数学?"}
SYSTEM = {"role": "system", "content": "  You are brief. 🙂\n"}
ASSISTANT = {"role": "assistant", "content": "<think>\ncount them\n</think>\n\nThree of them."}
SECOND = {"role": "user", "content": "  Why <b>three</b> & not {{ four }}?\n"}
PARTS = {"role": "user",
         "content": [{"type": "text", "text": "one "}, {"type": "image"}, {"type": "text", "text": "two"}]}
TOOL = {"type": "function", "function": {"name": "add", "description": "Größe <x> & 'y'", "parameters": {}}}

CONVERSATIONS = {  # name: messages, further template arguments
    "user": ([USER], {}),
    "system, user": ([SYSTEM, USER], {}),
    "user, assistant, user": ([USER, ASSISTANT, SECOND], {}),
    "user, assistant": ([USER, ASSISTANT], {}),
    "thinking off": ([SYSTEM, USER], {"enable_thinking": False}),
    "thinking on": ([USER], {"enable_thinking": True}),
    "thought apart": ([USER, {"role": "assistant", "content": "Three.", "reasoning_content": " hm "}], {}),
    "empty content": ([{"role": "user", "content": ""}, {"role": "assistant", "content": ""}], {}),
    "observation": ([USER, {"role": "assistant", "content": "look"}, {"role": "observation", "content": " 3\n"}], {}),
    "content in parts": ([PARTS], {}),
    "special tokens in content": ([{"role": "user", "content": "say <|user|> and <sop>"}], {}),
    "tools": ([USER], {"tools": [TOOL]}),
    "unknown role": ([{"role": "wizard", "content": "x"}], {}),
    "content of a wrong type": ([{"role": "user", "content": 3}], {}),
}


def train():
    tokenizer = Tokenizer(models.BPE(byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE - len(SPECIAL) - len(PLAIN_ADDED), show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(TRAINING_TEXT, trainer)
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIAL])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in PLAIN_ADDED])
    return tokenizer


def write_folder():
    shutil.rmtree(FOLDER, ignore_errors=True)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=train(), eos_token="<|endoftext|>", pad_token="<|endoftext|>",
        extra_special_tokens=SPECIAL[1:], clean_up_tokenization_spaces=False, model_max_length=4096,
        model_input_names=["input_ids", "attention_mask"])
    fast.chat_template = (HERE / "chat_template.jinja").read_text()
    fast.save_pretrained(FOLDER, save_jinja_files=False)


def byte_offsets(text, offsets):
    """A token that is only some bytes of a character spans the whole character, in bytes as in characters."""
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    return [[starts[begin], starts[end]] for begin, end in offsets]


def encode(tokenizer, text):
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    offsets = [list(pair) for pair in encoded["offset_mapping"]]
    return {"ids": encoded["input_ids"], "offsets_characters": offsets, "offsets_bytes": byte_offsets(text, offsets)}


def text_record(tokenizer, name, text):
    record = {"name": name, "text": text} | encode(tokenizer, text)
    assert tokenizer(text)["input_ids"] == record["ids"], "the tokenizer adds special tokens of its own"
    record["decoded"] = tokenizer.decode(record["ids"])
    record["decoded_without_special"] = tokenizer.decode(record["ids"], skip_special_tokens=True)
    assert record["decoded"] == text
    return record


def chat_record(tokenizer, name, messages, arguments, add_generation_prompt):
    record = {"name": name, "messages": messages, "arguments": arguments,
              "add_generation_prompt": add_generation_prompt}
    tools = arguments.get("tools")
    others = {k: v for k, v in arguments.items() if k != "tools"}
    options = dict(tools=tools, add_generation_prompt=add_generation_prompt, **others)
    try:
        record["rendered"] = tokenizer.apply_chat_template(messages, tokenize=False, **options)
    except TemplateError as error:
        return record | {"error": str(error)}
    record |= encode(tokenizer, record["rendered"])
    assert tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **options) == record["ids"]
    return record


def write_golden():
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    chats = [chat_record(tokenizer, name, *conversation, prompted)
             for name, conversation in CONVERSATIONS.items() for prompted in (False, True)]
    golden = {
        "made_with": {"transformers": transformers.__version__, "tokenizers": tokenizers.__version__},
        "vocab_size": len(tokenizer), "eos_token_id": tokenizer.eos_token_id,
        "special_ids": {t: tokenizer.convert_tokens_to_ids(t) for t in SPECIAL + PLAIN_ADDED},
        "texts": [text_record(tokenizer, name, text) for name, text in TEXTS.items()],
        "chats": chats,
    }
    (HERE / "golden.json").write_text(one_record_a_line(golden))
    return golden


def one_record_a_line(golden):
    fields = []
    for name, value in golden.items():
        if isinstance(value, list):
            value = "[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in value) + "\n]"
        else:
            value = json.dumps(value, ensure_ascii=False)
        fields.append(f"{json.dumps(name)}: {value}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


if __name__ == "__main__":
    write_folder()
    golden = write_golden()
    print(f"{golden['vocab_size']} tokens, {len(golden['texts'])} texts, {len(golden['chats'])} renderings, "
          f"{sum('error' in chat for chat in golden['chats'])} of them refused")
