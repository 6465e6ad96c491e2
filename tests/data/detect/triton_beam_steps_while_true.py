import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def score_candidates(logit_ptr, score_ptr, done_ptr, out_ptr, VOCAB, EOS, BLOCK: tl.constexpr):
    beam = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = cols < VOCAB
    base = tl.load(score_ptr + beam)
    finished = tl.load(done_ptr + beam)
    logp = tl.load(logit_ptr + beam * VOCAB + cols, mask=keep, other=-1e9)
    frozen = tl.where(cols == EOS, 0.0, -1e9)
    tl.store(out_ptr + beam * VOCAB + cols, base + tl.where(finished != 0, frozen, logp), mask=keep)


class ModelNew(nn.Module):
    def __init__(self, vocab, hidden, beams, max_len, eos):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.proj = nn.Linear(hidden, vocab)
        self.vocab, self.beams, self.max_len, self.eos = vocab, beams, max_len, eos

    @torch.no_grad()
    def forward(self, h, start):
        tokens = start.expand(self.beams)
        scores = torch.full((self.beams,), -1e9, device=h.device)
        scores[0] = 0.0
        done = torch.zeros(self.beams, dtype=torch.int32, device=h.device)
        h = h.expand(self.beams, -1).contiguous()
        step = 0
        while True:
            h = self.cell(self.embed(tokens), h)
            logp = torch.log_softmax(self.proj(h), dim=-1)
            total = torch.empty_like(logp)
            score_candidates[(self.beams, triton.cdiv(self.vocab, 1024))](
                logp, scores, done, total, self.vocab, self.eos, BLOCK=1024)
            scores, flat = total.view(-1).topk(self.beams)
            parent = flat // self.vocab
            tokens = flat % self.vocab
            h = h[parent].contiguous()
            done = (done[parent] | (tokens == self.eos)).int()
            step += 1
            if step >= self.max_len or bool(done.all()):
                break
        return scores, tokens
