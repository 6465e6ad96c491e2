#!/usr/bin/env python3
"""Makes two Llama models with known replies: "stops" says "ready steady go" and ends, "goes_on" never ends.

Each token is a direction of its own, attention and feed-forward layers add nothing, and the last matrix turns each
token into its successor. A server runs them like any other model.
"""

import pathlib
import sys

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<unknown>", "<user>", "<assistant>", "<end>"]
WORDS = ["Reply", "with", "the", "single", "word", ":", "ready", "steady", "go"]
SUCCESSORS = {
    "stops": {"<assistant>": "ready", "ready": "steady", "steady": "go", "go": "<end>"},
    "goes_on": {"<assistant>": "go", "go": "steady", "steady": "go"},
}
TEMPLATE = ("{% for message in messages %}{{ '<user> ' + (message['content'] if message['content'] is string else "
            "message['content'][0]['text']) }}{% endfor %}{{ ' <assistant>' }}")


def make_tokenizer():
    words = {word: number for number, word in enumerate(SPECIAL + WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unknown>", eos_token="<end>",
                                   pad_token="<unknown>", additional_special_tokens=["<user>", "<assistant>"],
                                   chat_template=TEMPLATE, model_max_length=4096)


def make_model(tokenizer, successors):
    size = len(tokenizer)
    config = LlamaConfig(vocab_size=size, hidden_size=64, intermediate_size=64, num_hidden_layers=1,
                         num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=4096,
                         bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
                         tie_word_embeddings=False)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size, config.hidden_size))
        model.lm_head.weight.zero_()
        for word, successor in successors.items():
            before, after = tokenizer.convert_tokens_to_ids([word, successor])
            model.lm_head.weight[after, before] = 1
    model.generation_config.do_sample = False
    return model


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokenizer = make_tokenizer()
    for name, successors in SUCCESSORS.items():
        directory = pathlib.Path(sys.argv[1]) / name
        tokenizer.save_pretrained(directory)
        make_model(tokenizer, successors).save_pretrained(directory)


if __name__ == "__main__":
    main()
