"""The training steps of Steps.cpp in PyTorch."""

import torch
from torch import nn
from torch.nn import functional

from peer_timing import step_inputs


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


def deep():
    layers = [nn.Linear(64, 64)]
    for _ in range(19):
        layers += [nn.ReLU(), nn.Linear(64, 64)]
    return nn.Sequential(*layers)


class UnrolledLstm(nn.Module):
    """From linear layers, as Weft's side."""

    def __init__(self):
        super().__init__()
        self.input, self.state, self.head = nn.Linear(64, 512), nn.Linear(128, 512), nn.Linear(128, 10)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 128)
        for now in x.unbind(1):
            i, f, g, o = (self.input(now) + self.state(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.head(h)


class LibraryLstm(nn.Module):
    def __init__(self, features=64, hidden=128, layers=1):
        super().__init__()
        self.lstm, self.head = nn.LSTM(features, hidden, layers, batch_first=True), nn.Linear(hidden, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(128), nn.LayerNorm(128)
        self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
        self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)

    def forward(self, x, keys=None, values=None, position=None):
        """With tensors of keys and values [batch, heads, length, features], x is the token at `position`."""
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, 4, 32).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
        if keys is None:
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys[:, :, position], values[:, :, position] = k[:, :, 0], v[:, :, 0]
            mixed = functional.scaled_dot_product_attention(q, keys[:, :, :position + 1], values[:, :, :position + 1])
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.after(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, length=128):
        super().__init__()
        self.word, self.place = nn.Embedding(65, 128), nn.Embedding(length, 128)
        self.blocks = nn.Sequential(*[Block() for _ in range(4)])
        self.last, self.head = nn.LayerNorm(128), nn.Linear(128, 65, bias=False)

    def forward(self, ids):
        x = self.word(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.last(self.blocks(x)))


def next_word(length=256, position=128):
    """A function that computes the logits behind one token, at a position in the middle of the text."""
    torch.manual_seed(0)
    model = Gpt(length).eval()
    caches = [(torch.zeros(1, 4, length, 32), torch.zeros(1, 4, length, 32)) for _ in model.blocks]

    def logits(token):
        x = model.word(token) + model.place.weight[position]
        for block, (keys, values) in zip(model.blocks, caches):
            x = block(x, keys, values, position)
        return model.head(model.last(x))[:, 0]
    return logits, (torch.tensor([[3]]),)


class Residual(nn.Module):
    def __init__(self, channels, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity() if stride == 1 and channels == outputs else nn.Sequential(
            nn.Conv2d(channels, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return functional.relu(self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x))))) + self.shortcut(x))


def resnet():
    blocks, channels = [], 64
    for outputs in (64, 128, 256, 512):
        for number in range(2):
            blocks.append(Residual(channels, outputs, 2 if number == 0 and outputs > 64 else 1))
            channels = outputs
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def class_loss(model, x, labels):
    return functional.cross_entropy(model(x), labels)


def word_loss(model, ids, following):
    return functional.cross_entropy(model(ids).flatten(0, 1), following.flatten())


STEPS = {
    "mlp_step": ([mlp], lambda model, x, labels: class_loss(model, x.flatten(1).float() / 255, labels)),
    "deep_step": ([deep], lambda model, x, target: functional.mse_loss(model(x), target)),
    "lstm_step": ([UnrolledLstm, LibraryLstm], class_loss),
    "lstm_layers_step": ([lambda: LibraryLstm(256, 256, 2)], class_loss),
    "gpt_step": ([Gpt], word_loss),
    "gpt_long_step": ([lambda: Gpt(512)], word_loss),
    "resnet_step": ([resnet], class_loss),
    "resnet_fast_step": ([resnet], class_loss),
}


def steps(row, compiled, device="cpu", mode=None):
    """Calls that train by one step each, for each form of the row's model. `mode` is torch.compile's."""
    models, loss_of = STEPS[row]
    inputs = [torch.from_numpy(array).to(device) for array in step_inputs(row)]

    def made(model):
        torch.manual_seed(0)
        with torch.device(device):  # also what a model makes in its calls
            model = model()
        # fused=True is PyTorch's fastest optimiser; a compiled step fuses the plain one by itself.
        fused = None if compiled else True
        if row.startswith("resnet_"):
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, fused=fused)
        else:
            kind = torch.optim.AdamW if row.startswith("gpt_") else torch.optim.Adam
            optimizer = kind(model.parameters(), lr=1e-3, fused=fused)

        def step(x, y):
            loss = loss_of(model, x, y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        run = torch.compile(step, mode=mode) if compiled else step
        return lambda: run(*inputs)

    # torch.compile calls the library's LSTM as it is: the unrolled one is what it compiles.
    return [made(model) for model in (models[:1] if compiled else models)]
