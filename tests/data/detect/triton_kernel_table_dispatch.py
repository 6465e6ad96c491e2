import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lstm_cell(gates_ptr, c_ptr, h_ptr, y_ptr, HID, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = j < HID
    g = gates_ptr + row * 4 * HID
    i = tl.sigmoid(tl.load(g + j, mask=m))
    f = tl.sigmoid(tl.load(g + HID + j, mask=m))
    u = 2 * tl.sigmoid(2 * tl.load(g + 2 * HID + j, mask=m)) - 1
    o = tl.sigmoid(tl.load(g + 3 * HID + j, mask=m))
    c = f * tl.load(c_ptr + row * HID + j, mask=m) + i * u
    h = o * (2 * tl.sigmoid(2 * c) - 1)
    tl.store(c_ptr + row * HID + j, c, mask=m)
    tl.store(h_ptr + row * HID + j, h, mask=m)
    tl.store(y_ptr + row * HID + j, h, mask=m)


@triton.jit
def gru_cell(gi_ptr, gh_ptr, h_ptr, y_ptr, HID, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = j < HID
    gi = gi_ptr + row * 3 * HID + j
    gh = gh_ptr + row * 3 * HID + j
    r = tl.sigmoid(tl.load(gi, mask=m) + tl.load(gh, mask=m))
    z = tl.sigmoid(tl.load(gi + HID, mask=m) + tl.load(gh + HID, mask=m))
    n = 2 * tl.sigmoid(2 * (tl.load(gi + 2 * HID, mask=m) + r * tl.load(gh + 2 * HID, mask=m))) - 1
    h = tl.load(h_ptr + row * HID + j, mask=m)
    h = n + z * (h - n)
    tl.store(h_ptr + row * HID + j, h, mask=m)
    tl.store(y_ptr + row * HID + j, h, mask=m)


CELLS = {
    "lstm": lstm_cell,
    "gru": gru_cell,
}


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, kind="lstm"):
        super().__init__()
        self.kind = kind
        self.rnn = nn.LSTM(input_size, hidden_size, batch_first=True)
        self.hid = hidden_size

    def forward(self, x):
        b, steps, _ = x.shape
        pre = torch.nn.functional.linear(x, self.rnn.weight_ih_l0, self.rnn.bias_ih_l0 + self.rnn.bias_hh_l0)
        h = x.new_zeros(b, self.hid)
        c = x.new_zeros(b, self.hid)
        y = x.new_empty(steps, b, self.hid)
        grid = (b, triton.cdiv(self.hid, 256))
        cell = CELLS[self.kind]
        for s in range(steps):
            gates = torch.addmm(pre[:, s], h, self.rnn.weight_hh_l0.t())
            cell[grid](gates, c, h, y[s], self.hid, BLOCK=256)
        return y.transpose(0, 1), (h.unsqueeze(0), c.unsqueeze(0))
