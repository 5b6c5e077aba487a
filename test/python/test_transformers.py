"""Tiny random models of Hugging Face's: the same logits and tokens as by eager attention."""

import inspect
import unittest

from support import attend, devices, needs_torch, skip_without, torch

try:
    import transformers
except ImportError:
    transformers = None

SHAPE = dict(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2)
# name -> what its configuration has beside SHAPE.
MODELS = {"Llama": {}, "Mistral": dict(sliding_window=8), "Qwen2": {},
          "Gemma2": dict(head_dim=32, sliding_window=8, query_pre_attn_scalar=32),
          "GptOss": dict(head_dim=32, num_local_experts=2, num_experts_per_tok=1, sliding_window=8,
                         max_position_embeddings=4096),
          "Llama4": dict(head_dim=16, intermediate_size_mlp=96, num_local_experts=2, num_experts_per_tok=1, attention_chunk_size=8,
                         no_rope_layers=[1, 0], attn_temperature_tuning=False)}
# Gemma 2's own head size.
LARGE = dict(head_dim=256, query_pre_attn_scalar=256)


def makes_chunks_for_generate():
    """Return whether generate(), which makes masks beforehand for a static cache, calls the mask of chunks as it is."""
    from transformers import masking_utils
    takes = lambda name: "block_sequence_ids" in inspect.signature(getattr(masking_utils, name, len)).parameters
    return not takes("create_masks_for_generate") or takes("create_chunked_causal_mask")


@needs_torch
@unittest.skipUnless(transformers, "needs transformers >= 4.53")
class Models(unittest.TestCase):
    def setUp(self):
        from fa_mlir.transformers import register
        register()

    def make(self, name, device, dtype, **more):
        torch.manual_seed(19)
        kind = name + ("TextConfig" if name == "Llama4" else "Config")
        config = getattr(transformers, kind)(**{**SHAPE, **MODELS[name], **more})
        return getattr(transformers, name + "ForCausalLM")(config).eval().to(device, dtype)

    def inputs(self, device):
        """Return ids and (name, arguments) of calls: plain, padded on either side, packed by positions."""
        ids = torch.randint(3, 128, (2, 21), device=device, generator=torch.Generator(device).manual_seed(2))
        left = torch.ones_like(ids)
        left[0, :5] = 0
        packed = torch.cat([torch.arange(9), torch.arange(12)])[None].expand(2, -1).to(device)
        return ids, (("plain", {}), ("left", dict(attention_mask=left)), ("right", dict(attention_mask=left.flip(1))),
                     ("packed", dict(position_ids=packed, use_cache=False)))

    def compare_halves(self, name, device, **more):
        """Judge logits in bf16 by the error rule: within twice the error of eager attention, of the same weights in float32."""
        model = self.make(name, device, torch.bfloat16, **more)
        wide = self.make(name, device, torch.float32, **more)
        wide.load_state_dict({key: x.float() for key, x in model.state_dict().items()})
        wide.set_attn_implementation("eager")
        ids, cases = self.inputs(device)
        for what, arguments in cases:
            with self.subTest(name, device=device, what=what, dtype="bf16"), torch.no_grad():
                reference, results = wide(ids, **arguments).logits, {}
                for implementation in ("eager", "fa_mlir"):
                    model.set_attn_implementation(implementation)
                    results[implementation] = model(ids, **arguments).logits.float()
                seen = arguments.get("attention_mask", torch.ones_like(ids)).bool()
                errors = {key: (x - reference)[seen].abs().max().item() for key, x in results.items()}
                allowed = 2 * errors["eager"] + 2 ** -7 * reference[seen].abs().max().item()
                self.assertLessEqual(errors["fa_mlir"], allowed)

    def compare(self, name, device, **more):
        model = self.make(name, device, torch.float32, **more)
        ids, cases = self.inputs(device)
        left = cases[1][1]["attention_mask"]
        for what, arguments in cases:
            with self.subTest(name, device=device, what=what), torch.no_grad():
                logits = []
                for implementation in ("eager", "fa_mlir"):
                    model.set_attn_implementation(implementation)
                    logits.append(model(ids, **arguments).logits)
                seen = arguments.get("attention_mask", torch.ones_like(ids)).bool()
                torch.testing.assert_close(logits[1][seen], logits[0][seen], rtol=1e-3, atol=1e-4)
        for cache in (None, "static"):
            with self.subTest(name, device=device, cache=cache):
                if cache and name == "Llama4" and not makes_chunks_for_generate():
                    self.skipTest("transformers %s gives its mask of chunks an argument that it does not take, in eager attention too"
                                  % transformers.__version__)
                more = dict(cache_implementation=cache, disable_compile=True) if cache else {}
                tokens = []
                for implementation in ("eager", "fa_mlir"):
                    model.set_attn_implementation(implementation)
                    tokens.append(model.generate(ids, attention_mask=left, max_new_tokens=32, do_sample=False, **more))
                self.assertTrue(torch.equal(*tokens))

    def compare_everywhere(self, name, **more):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                self.compare(name, device, **more)
                self.compare_halves(name, device, **more)

    def test_llama(self):
        self.compare_everywhere("Llama")

    def test_mistral(self):
        self.compare_everywhere("Mistral")

    def test_qwen2(self):
        self.compare_everywhere("Qwen2")

    def test_gemma2(self):
        self.compare_everywhere("Gemma2")

    def test_gemma2_large(self):
        self.compare_everywhere("Gemma2", **LARGE)

    def test_llama4(self):
        """Chunks in one layer, all keys in the other."""
        self.compare_everywhere("Llama4")

    def test_chunks(self):
        """The mask function of chunks, by positions and padding, beside the tensor that transformers makes of it."""
        from transformers import masking_utils
        from fa_mlir.transformers import attend as attend_model
        config = transformers.Llama4TextConfig(**{**SHAPE, **MODELS["Llama4"]})
        x, keep = torch.randn(2, 4, 21, 16), torch.ones(2, 21, dtype=torch.long)
        keep[0, :5] = 0
        for mask in (None, keep):
            made = {}
            for implementation in ("eager", "fa_mlir"):
                config._attn_implementation = implementation
                make = masking_utils.create_chunked_causal_mask
                embeddings, known = torch.zeros(2, 21, 64), inspect.signature(make).parameters
                arguments = dict(config=config, input_embeds=embeddings, inputs_embeds=embeddings, attention_mask=mask,
                                 cache_position=torch.arange(21), past_key_values=None, cache=None)
                made[implementation] = make(**{key: x for key, x in arguments.items() if key in known})
            self.assertEqual(type(made["fa_mlir"]).__name__, "Mask")
            seen = made["eager"] == 0
            rows = seen.any(3).expand(2, 4, 21)
            self.assertEqual(seen[1, 0, 20].sum().item(), 21 - 16)
            result = attend_model(None, x, x, x, made["fa_mlir"])[0].transpose(1, 2)
            torch.testing.assert_close(result[rows], attend(x, x, x, seen)[0][rows], rtol=1e-5, atol=1e-5)

    def test_gpt_oss(self):
        self.compare_everywhere("GptOss")

    def test_offsets_of_sequences(self):
        """cu_seq_lens, which data collators give, pack sequences even where positions do not say so."""
        offsets = torch.tensor([0, 9, 21], dtype=torch.int32)
        packed = torch.cat([torch.arange(9), torch.arange(12)])[None]
        with torch.no_grad():
            model = self.make("Llama", "cpu", torch.float32)
            ids = torch.randint(3, 128, (1, 21))
            model.set_attn_implementation("eager")
            expected = torch.cat([model(ids[:, :9]).logits, model(ids[:, 9:]).logits], 1)
            model.set_attn_implementation("fa_mlir")
            mask = torch.ones_like(ids)  # with a mask positions are not looked at
            result = model(ids, attention_mask=mask, position_ids=packed, cu_seq_lens_q=offsets, cu_seq_lens_k=offsets,
                           use_cache=False).logits
            torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-4)
            with self.assertRaisesRegex(ValueError, "a batch of 1, but query has a batch of 2"):
                model(ids.expand(2, -1), cu_seq_lens_q=offsets, cu_seq_lens_k=offsets, use_cache=False)

    def test_gpt2_static_cache(self):
        """The model asks for the number of dimensions of its mask."""
        from transformers import GPT2Config, GPT2LMHeadModel
        ids, tokens = torch.randint(3, 99, (1, 9), generator=torch.Generator().manual_seed(2)), []
        for name in ("eager", "fa_mlir"):
            torch.manual_seed(1)
            model = GPT2LMHeadModel._from_config(GPT2Config(
                vocab_size=99, n_embd=64, n_layer=2, n_head=4, n_positions=256, bos_token_id=1, eos_token_id=2),
                attn_implementation=name).eval()
            tokens.append(model.generate(ids, max_new_tokens=8, do_sample=False, cache_implementation="static",
                                         disable_compile=True, pad_token_id=0).tolist())
        self.assertEqual(tokens[0], tokens[1])

    def test_static_cache_compiled(self):
        """Steps of decoding under torch.compile: attention breaks no graph, the tokens are those of eager attention."""
        for device in devices():
            for name in MODELS:
                with self.subTest(name, device=device), torch.no_grad():
                    skip_without(self, device)
                    # Inductor takes seconds for each model; one says that it takes these graphs.
                    backend = "inductor" if device == "cuda" and name == "Llama" else "aot_eager"
                    self.compare_steps(name, device, backend)

    def compare_steps(self, name, device, backend):
        from transformers import StaticCache

        def generate(model, step, ids, left, count):
            cache, tokens, length = StaticCache(config=model.config, max_cache_len=48), ids, ids.shape[1]
            result, mask = [], torch.cat([left, left.new_ones(2, count)], 1)
            for n in range(count):
                seen = mask[:, :length + n]
                places = (seen.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1]:]
                at = torch.arange(length, device=device) if n == 0 else torch.tensor([length + n - 1], device=device)
                logits = (step if n else model)(input_ids=tokens, attention_mask=seen, position_ids=places,
                                                past_key_values=cache, cache_position=at, use_cache=True).logits
                tokens = logits[:, -1:].argmax(2)
                result.append(tokens)
            return torch.cat(result, 1)
        torch._dynamo.reset()
        model = self.make(name, device, torch.float32)
        ids = torch.randint(3, 128, (2, 21), device=device)
        left = torch.ones_like(ids)
        left[0, :5] = 0
        model.set_attn_implementation("eager")
        expected = generate(model, model, ids, left, 8)
        model.set_attn_implementation("fa_mlir")
        # Some versions of GPT-OSS ask for the experts that tokens chose, which breaks the graph beside attention.
        step = torch.compile(model, fullgraph=name != "GptOss", backend=backend)
        self.assertTrue(torch.equal(generate(model, step, ids, left, 8), expected))

    def test_gradients(self):
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                gradients = []
                model = self.make("Llama", device, torch.float32)
                ids = torch.randint(3, 128, (2, 21), device=device)
                for implementation in ("eager", "fa_mlir"):
                    model.set_attn_implementation(implementation)
                    model.zero_grad()
                    model(ids, labels=ids).loss.backward()
                    gradients.append(model.model.layers[0].self_attn.q_proj.weight.grad.clone())
                torch.testing.assert_close(*gradients[::-1], rtol=1e-3, atol=1e-5)

    def test_t5(self):
        """A bias that the model permutes, so that its last dimension has gaps, and its gradient: as eager attention has them."""
        for device in devices():
            with self.subTest(device=device):
                skip_without(self, device)
                torch.manual_seed(19)
                model = transformers.T5ForConditionalGeneration(transformers.T5Config(
                    vocab_size=128, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, dropout_rate=0.0, pad_token_id=0, eos_token_id=2,
                    decoder_start_token_id=0, relative_attention_num_buckets=8, relative_attention_max_distance=20)).to(device)
                ids, cases = self.inputs(device)
                for what, arguments in cases[:3]:
                    with self.subTest(device=device, what=what):
                        self.compare_t5(model, ids, **arguments)
                tokens = []
                for implementation in ("eager", "fa_mlir"):
                    model.set_attn_implementation(implementation)
                    tokens.append(model.eval().generate(ids, **cases[1][1], max_new_tokens=12, do_sample=False))
                self.assertTrue(torch.equal(*tokens))

    def compare_t5(self, model, ids, **arguments):
        found = []
        for implementation in ("eager", "fa_mlir"):
            model.set_attn_implementation(implementation)
            model.zero_grad()
            result = model(ids, decoder_input_ids=ids[:, :9], labels=ids[:, 3:12].contiguous(), **arguments)
            result.loss.backward()
            found.append({name: x.grad for name, x in model.named_parameters()} | {"logits": result.logits})
        for name, expected in found[0].items():
            self.assertTrue(expected.any(), name)
            torch.testing.assert_close(found[1][name], expected, rtol=1e-3, atol=1e-5 * expected.abs().max().item() + 1e-7, msg=name)

    def test_bias_of_any_strides(self):
        """Biases and masks of floats enter as they lie in memory, behind softcap; one without a dimension that has no gaps is refused."""
        from fa_mlir.transformers import attend as attend_model
        torch.manual_seed(3)
        q, k, v, do = (torch.randn(2, 4, n, 16) for n in (9, 11, 11, 9))
        sizes = 2, 4, 9, 11
        for order in ((0, 1, 2, 3), (0, 2, 3, 1), (3, 1, 2, 0), (1, 0, 3, 2)):
            for shared in ((), (0,), (0, 1), (1, 2), (3,)):
                inverse, own = [order.index(dim) for dim in range(4)], [1 if dim in shared else n for dim, n in enumerate(sizes)]
                bias = torch.randn([own[dim] for dim in order]).permute(inverse).requires_grad_()
                for name, given in (("position_bias", (None, dict(position_bias=bias))), ("attention_mask", (bias, {}))):
                    with self.subTest(name, order=order, shared=shared):
                        result = attend_model(None, q, k, v, given[0], is_causal=False, softcap=5.0, **given[1])[0].transpose(1, 2)
                        expected = attend(q, k, v, score=lambda s: 5 * torch.tanh(s / 5) + bias)[0]
                        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
                        torch.testing.assert_close(*[torch.autograd.grad(x, bias, do)[0] for x in (result, expected)], rtol=1e-3, atol=1e-5)
        with self.assertRaisesRegex(ValueError, r"position_bias has strides of \(.*\), expected one of 1, .*'sdpa' or 'eager'"):
            attend_model(None, q, k, v, None, position_bias=torch.randn(*sizes, 2)[..., 0])

    def test_other_arguments(self):
        """What a model hands on besides is known to change nothing, or refused by name."""
        from fa_mlir.transformers import attend as attend_model
        x = torch.randn(1, 2, 5, 16)
        expected = attend_model(None, x, x, x, None)[0]
        harmless = dict(position_ids=torch.arange(5)[None], use_cache=False, output_attentions=False, cache=None, indices=None)
        self.assertTrue(torch.equal(attend_model(None, x, x, x, None, **harmless)[0], expected))
        for name, value in (("block_indices", torch.zeros(1, 2, 5, 1)), ("indices", torch.zeros(1, 5, 4)), ("unheard_of", False),
                            ("output_attentions", True), ("head_mask", torch.ones(2)), ("cache", object()),
                            ("block_table", torch.zeros(1, 1))):
            with self.subTest(name), self.assertRaisesRegex(NotImplementedError, "fa_mlir: %s is not supported: .*; " % name):
                attend_model(None, x, x, x, None, **{name: value})

    def test_sinks(self):
        """A logit a head, by either name, or one a query, with gradients."""
        from fa_mlir.transformers import attend as attend_model
        torch.manual_seed(5)
        q, k, v = (torch.randn(2, 4, 9, 16, requires_grad=True) for _ in range(3))
        seen, of_heads = torch.ones(9, 9).tril().bool(), torch.randn(4, requires_grad=True)
        of_queries = torch.randn(2, 4, 9, 1, requires_grad=True)

        def reference(sinks):
            scores = (q @ k.transpose(2, 3) / 4).masked_fill(~seen, -float("inf"))
            return torch.softmax(torch.cat([scores, sinks], 3), 3)[..., :-1] @ v
        for name, sinks in (("s_aux", of_heads), ("sinks", of_heads), ("sinks", of_queries)):
            with self.subTest(name, dims=sinks.dim()):
                wide = sinks if sinks.dim() == 4 else sinks[None, :, None, None].expand(2, 4, 9, 1)
                result = attend_model(None, q, k, v, None, is_causal=True, **{name: sinks})[0].transpose(1, 2)
                expected, do = reference(wide), torch.randn(2, 4, 9, 16)
                torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)
                for one, other in zip(*[torch.autograd.grad(x, [q, k, v, sinks], do) for x in (result, expected)]):
                    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(ValueError, r"sinks has shape \(2, 4, 1\), expected \(2, 4, 9, 1\): a logit a head"):
            attend_model(None, q, k, v, None, sinks=torch.zeros(2, 4, 1))

    def test_mask_is_no_tensor(self):
        """A model that looks into its mask is told so; one that asks first is told that there is nothing."""
        from fa_mlir.transformers import make_mask
        mask = make_mask(2, 5, 5)
        for name, use in (("__getitem__", lambda: mask[:, 0]), ("__and__", lambda: mask & True), ("dtype", lambda: mask.dtype),
                          ("__radd__", lambda: torch.ones(5) + mask), ("to_dense", mask.to_dense)):
            with self.subTest(name), self.assertRaisesRegex(NotImplementedError, "'%s' of its mask.*'sdpa' or 'eager'" % name):
                use()
        self.assertFalse(hasattr(mask, "dtype"))
        self.assertEqual((mask.shape, mask.ndim, mask.dim()), ((2, 1, 5, 5), 4, 4))
        self.assertIn("Mask", str(mask))


if __name__ == "__main__":
    unittest.main()
