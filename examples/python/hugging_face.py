"""A tiny random Llama that attends by fa_mlir; needs transformers."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import fa_mlir

fa_mlir.transformers.register()
config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
model = LlamaForCausalLM(config).eval()
model.set_attn_implementation("fa_mlir")
print(model.generate(torch.randint(3, 128, (2, 16)), max_new_tokens=8, do_sample=False).shape)
