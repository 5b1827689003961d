#!/usr/bin/env python3
"""The models library beside PyTorch twins with equal weights: outputs in eval mode, and the losses of 20 training steps.

The twins are written here, with the names of parameters that torchvision, nanoGPT and PyTorch's examples have, and load the
weights by these names. The bound of a loss is relative: 1e-4, or four times how far PyTorch's f32 is from its f64 where that is
more, because rounding grows from step to step. Lazy steps and those that are compiled for any number of rows are compared
with the same losses.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from checks import Checks
from safetensors_file import TYPES, read_safetensors
from torch import nn
from torch.nn import functional as F

STEPS = 20


# Image classifiers


class Residual(nn.Module):
    def __init__(self, channels, planes, stride, bottleneck):
        super().__init__()
        out = planes * (4 if bottleneck else 1)
        self.conv1 = nn.Conv2d(channels, planes, 1, bias=False) if bottleneck else nn.Conv2d(channels, planes, 3, stride, 1,
                                                                                             bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride if bottleneck else 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        if bottleneck:
            self.conv3 = nn.Conv2d(planes, out, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(out)
        self.bottleneck = bottleneck
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.bottleneck:
            y = self.bn3(self.conv3(F.relu(y)))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, bottleneck, blocks, width, small_images):
        super().__init__()
        self.small_images = small_images
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False) if small_images else nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        channels = width
        for stage, count in enumerate(blocks):
            layers = []
            for i in range(count):
                planes = width << stage
                layers.append(Residual(channels, planes, 2 if i == 0 and stage else 1, bottleneck))
                channels = planes * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(channels, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if not self.small_images:
            x = F.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Vgg(nn.Module):
    def __init__(self, stages, width, hidden):
        super().__init__()
        layers, channels = [], 3
        for stage, count in enumerate(stages):
            for _ in range(count):
                out = width << min(stage, 3)
                layers += [nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
                channels = out
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Linear(channels * 49, hidden), nn.ReLU(), nn.Dropout(0.0), nn.Linear(hidden, hidden),
                                        nn.ReLU(), nn.Dropout(0.0), nn.Linear(hidden, 10))

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 7).flatten(1))


def conv_norm(channels, out, window, stride, groups):
    return nn.Sequential(nn.Conv2d(channels, out, window, stride, window // 2, groups=groups, bias=False), nn.BatchNorm2d(out),
                         nn.ReLU6())


class Inverted(nn.Module):
    def __init__(self, channels, out, stride, ratio):
        super().__init__()
        hidden = channels * ratio
        parts = [] if ratio == 1 else [conv_norm(channels, hidden, 1, 1, 1)]
        self.conv = nn.Sequential(*parts, conv_norm(hidden, hidden, 3, stride, hidden), nn.Conv2d(hidden, out, 1, bias=False),
                                  nn.BatchNorm2d(out))
        self.adds = stride == 1 and channels == out

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, width):
        super().__init__()

        def rounded(count):
            nearest = max(8, int(count * width + 4) // 8 * 8)
            return nearest + 8 if nearest < 0.9 * count * width else nearest

        channels = rounded(32)
        parts = [conv_norm(3, channels, 3, 2, 1)]
        for ratio, count, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                             (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(blocks):
                parts.append(Inverted(channels, rounded(count), stride if i == 0 else 1, ratio))
                channels = rounded(count)
        parts.append(conv_norm(channels, 1280, 1, 1, 1))
        self.features = nn.Sequential(*parts)
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(1280, 10))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class ViTBlock(nn.Module):
    def __init__(self, features, heads, hidden):
        super().__init__()
        self.ln_1 = nn.LayerNorm(features, 1e-6)
        self.self_attention = nn.MultiheadAttention(features, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(features, 1e-6)
        self.mlp = nn.Sequential(nn.Linear(features, hidden), nn.GELU(), nn.Dropout(0.0), nn.Linear(hidden, features),
                                 nn.Dropout(0.0))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    def __init__(self, image, patch, layers, heads, features, hidden):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, features, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, features))
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, features))
        self.encoder.layers = nn.Module()
        for i in range(layers):
            self.encoder.layers.add_module(f"encoder_layer_{i}", ViTBlock(features, heads, hidden))
        self.encoder.ln = nn.LayerNorm(features, 1e-6)
        self.heads = nn.Module()
        self.heads.head = nn.Linear(features, 10)

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.encoder.pos_embedding
        for block in self.encoder.layers.children():
            x = block(x)
        return self.heads.head(self.encoder.ln(x)[:, 0])


# Others


def double(channels, out):
    made = nn.Module()
    made.double_conv = nn.Sequential(nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                                     nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU())
    made.forward = made.double_conv.forward
    return made


class UNet(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.inc = double(3, width)
        for i in range(1, 5):
            down = nn.Module()
            down.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), double(width << (i - 1), width << i))
            self.add_module(f"down{i}", down)
            up = nn.Module()
            channels = width << (5 - i)
            up.up = nn.ConvTranspose2d(channels, channels // 2, 2, 2)
            up.conv = double(channels, channels // 2)
            self.add_module(f"up{i}", up)
        self.outc = nn.Module()
        self.outc.conv = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        levels = [self.inc(x)]
        for i in range(1, 5):
            levels.append(getattr(self, f"down{i}").maxpool_conv(levels[-1]))
        x = levels.pop()
        for i in range(1, 5):
            up = getattr(self, f"up{i}")
            x = up.conv(torch.cat([levels.pop(), up.up(x)], 1))
        return self.outc.conv(x)


class GptBlock(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(features)
        self.attn = nn.Module()
        self.attn.c_attn = nn.Linear(features, 3 * features)
        self.attn.c_proj = nn.Linear(features, features)
        self.ln_2 = nn.LayerNorm(features)
        self.mlp = nn.Module()
        self.mlp.c_fc = nn.Linear(features, 4 * features)
        self.mlp.c_proj = nn.Linear(4 * features, features)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.attn.c_attn(self.ln_1(x)).chunk(3, 2))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.attn.c_proj(attended)
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, length, words, layers, heads, features):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(words, features), "wpe": nn.Embedding(length, features),
            "h": nn.ModuleList(GptBlock(features, heads) for _ in range(layers)), "ln_f": nn.LayerNorm(features)})
        self.lm_head = nn.Linear(features, words, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, tokens):
        x = self.transformer.wte(tokens) + self.transformer.wpe(torch.arange(tokens.shape[1]))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


class LstmLm(nn.Module):
    def __init__(self, words, embedding, hidden, layers, tied):
        super().__init__()
        self.encoder = nn.Embedding(words, embedding)
        self.rnn = nn.LSTM(embedding, hidden, layers, batch_first=True)
        self.decoder = nn.Linear(hidden, words)
        if tied:
            self.decoder.weight = self.encoder.weight

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


class Vae(nn.Module):
    def __init__(self, features, hidden, latent):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(features, hidden), nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.fc3, self.fc4 = nn.Linear(latent, hidden), nn.Linear(hidden, features)

    def forward(self, x, noise):
        hidden = F.relu(self.fc1(x))
        mean, log_variance = self.fc21(hidden), self.fc22(hidden)
        z = mean + noise * torch.exp(0.5 * log_variance)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mean, log_variance


def dcgan(latent, width, doublings):
    """Generator and discriminator of images of 4 * 2^doublings pixels, in one module."""
    channels = width << (doublings - 1)
    parts = [nn.ConvTranspose2d(latent, channels, 4, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
    for _ in range(doublings - 1):
        parts += [nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(channels // 2), nn.ReLU()]
        channels //= 2
    parts += [nn.ConvTranspose2d(channels, 3, 4, 2, 1, bias=False), nn.Tanh()]
    gan = nn.Module()
    gan.generator = nn.Module()
    gan.generator.main = nn.Sequential(*parts)
    parts, channels = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)], width
    for _ in range(doublings - 1):
        parts += [nn.Conv2d(channels, 2 * channels, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * channels), nn.LeakyReLU(0.2)]
        channels *= 2
    gan.discriminator = nn.Module()
    gan.discriminator.main = nn.Sequential(*parts, nn.Conv2d(channels, 1, 4, bias=False))
    return gan


class TransformerLayers(nn.Module):
    def __init__(self):
        super().__init__()
        encoder = nn.TransformerEncoderLayer(16, 4, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(encoder, 2, nn.LayerNorm(16), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, 0.0, batch_first=True), 1)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        return self.head(self.decoder(x, self.encoder(x, mask, is_causal=True)).mean(1))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(16, 4, 2, 2, 32, 0.0, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=x.dtype)
        return self.head(self.transformer(x, x[:, 1:6], tgt_mask=mask).mean(1))


# Training: each gives the module, its output in eval mode, and a step that returns the loss.


def classifier(module, lr=0.01):
    sgd = torch.optim.SGD(module.parameters(), lr=lr, momentum=0.9)

    def step(x, y):
        sgd.zero_grad()
        loss = F.cross_entropy(module(x), y)
        loss.backward()
        sgd.step()
        return loss.item()

    return module, lambda x, y: module(x), step


def gpt():
    module = Gpt(32, 65, 2, 2, 32)
    adam = torch.optim.AdamW(module.parameters(), lr=1e-3)

    def step(x, y):
        adam.zero_grad()
        loss = F.cross_entropy(module(x).flatten(0, 1), y.flatten(), ignore_index=-1)
        loss.backward()
        adam.step()
        return loss.item()

    return module, lambda x, y: module(x), step


def lstm_lm(hidden, tied):
    module = LstmLm(65, 32, hidden, 2, tied)
    sgd = torch.optim.SGD(module.parameters(), lr=0.5)

    def step(x, y):
        sgd.zero_grad()
        loss = F.cross_entropy(module(x).flatten(0, 1), y.flatten(), ignore_index=-1)
        loss.backward()
        sgd.step()
        return loss.item()

    return module, lambda x, y: module(x), step


def vae():
    module = Vae(64, 32, 5)
    adam = torch.optim.Adam(module.parameters(), lr=1e-3)

    def step(x, noise):
        adam.zero_grad()
        made, mean, log_variance = module(x, noise)
        loss = F.binary_cross_entropy(made, x, reduction="sum")
        loss = loss - 0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
        loss.backward()
        adam.step()
        return loss.item()

    return module, lambda x, noise: module(x, noise)[0], step


def adversaries():
    gan = dcgan(16, 8, 3)
    generator, discriminator = gan.generator.main, gan.discriminator.main
    of_d, of_g = (torch.optim.Adam(each.parameters(), lr=2e-4, betas=(0.5, 0.999)) for each in (discriminator, generator))

    def loss(images, real):
        logits = discriminator(images).flatten()
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(real)))

    def step(real, noise):
        fake = generator(noise)
        of_d.zero_grad()
        loss_d = loss(real, True) + loss(fake.detach(), False)
        loss_d.backward()
        of_d.step()
        of_g.zero_grad()
        loss_g = loss(fake, True)
        loss_g.backward()
        of_g.step()
        return (loss_d + loss_g).item()

    return gan, lambda x, noise: generator(noise), step


MODELS = {
    "resnet18": lambda: classifier(ResNet(False, (2, 2, 2, 2), 8, False), 1e-4),
    "resnet50": lambda: classifier(ResNet(True, (3, 4, 6, 3), 8, True), 1e-5),
    "vgg11": lambda: classifier(Vgg((1, 1, 2, 2, 2), 8, 32)),
    "mobilenet_v2": lambda: classifier(MobileNetV2(0.25), 1e-4),
    "vit": lambda: classifier(ViT(32, 8, 2, 2, 32, 64)),
    "unet": lambda: classifier(UNet(3, 8)),
    "gpt": gpt,
    "lstm_lm": lambda: lstm_lm(24, False),
    "lstm_lm_tied": lambda: lstm_lm(32, True),
    "vae": vae,
    "dcgan": adversaries,
    "transformer": lambda: classifier(TransformerLayers()),
    "translator": lambda: classifier(Translator()),
}


def run(name, folder, dtype):
    weights = {key: torch.from_numpy(array.copy())
               for key, array in read_safetensors(os.path.join(folder, name + ".safetensors"), TYPES).items()}
    operands = [torch.from_numpy(np.load(os.path.join(folder, f"{name}.{which}.npy"))) for which in "xy"]
    operands = [x.to(dtype) if x.is_floating_point() else x for x in operands]
    module, output, step = MODELS[name]()
    module.load_state_dict(weights)  # all names, no others
    module.to(dtype)
    module.eval()
    with torch.no_grad():
        found = output(*operands).numpy().astype(np.float64)
    module.train()
    return found, np.array([step(*operands) for _ in range(STEPS)])


def main():
    check = Checks(verbose=True)
    names = sys.argv[1:] or list(MODELS)
    program = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-models")
    with tempfile.TemporaryDirectory(prefix="weft-parity-") as folder:
        subprocess.run([program, folder, *names], check=True)
        for name in names:
            ours = np.load(os.path.join(folder, name + ".npz"))
            output, losses = run(name, folder, torch.float32)
            exact_output, exact = run(name, folder, torch.float64)
            largest = np.max(np.abs(exact_output)) or 1
            noise = np.max(np.abs(output - exact_output)) / largest
            check(f"{name}: output in eval mode", np.max(np.abs(ours["output"] - exact_output)) / largest, 4 * noise + 1e-5)
            spread = np.abs(losses - exact) / np.abs(exact)
            check(f"{name}: PyTorch's own losses, f32 beside f64", np.max(spread), 1e-2)
            for way, count in (("compiled", STEPS), ("lazy", 3), ("dim", 3)):
                check(f"{name}: there are {count} losses, {way}", abs(len(ours[way]) - count), 0)
                error = np.abs(ours[way] - exact[:count]) / np.abs(exact[:count])
                check(f"{name}: losses, {way} (torch f32 is {np.max(spread[:count]):.2g} off)", np.max(error),
                      max(1e-4, 4 * np.max(spread[:count])))
    return check.report()


if __name__ == "__main__":
    torch.set_num_threads(2)
    sys.exit(main())
