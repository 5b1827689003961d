"""The training steps of Steps.cpp in JAX."""

import jax
import numpy
from jax import numpy as np

from peer_timing import data, step_inputs


def linear(generator, fan_in, fan_out, bias=True):
    bound = fan_in ** -0.5
    draw = lambda *shape: generator.uniform(-bound, bound, shape).astype(numpy.float32)
    return (draw(fan_out, fan_in), draw(fan_out)) if bias else (draw(fan_out, fan_in),)


def apply(layer, x):
    return x @ layer[0].T + layer[1] if len(layer) == 2 else x @ layer[0].T


def chain(sizes):
    generator = numpy.random.default_rng(0)
    return [jax.device_put(linear(generator, *pair)) for pair in zip(sizes, sizes[1:])]


def chain_forward(layers, x):
    for i, layer in enumerate(layers):
        x = apply(layer, jax.nn.relu(x) if i else x)
    return x


def mlp():
    return chain([784, 512, 256, 10])


mlp_forward = chain_forward


def cross_entropy(logits, labels):
    return -np.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


def mlp_loss(layers, images, labels):
    return cross_entropy(mlp_forward(layers, images.reshape(images.shape[0], -1).astype(np.float32) / 255), labels)


def lstm():
    generator = numpy.random.default_rng(0)
    sizes = {"input": (64, 512), "state": (128, 512), "head": (128, 10)}
    return jax.device_put({name: linear(generator, *pair) for name, pair in sizes.items()})


def cell(parameters, carry, now):
    h, c = carry
    i, f, g, o = np.split(apply(parameters["input"], now) + apply(parameters["state"], h), 4, axis=1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * np.tanh(g)
    return jax.nn.sigmoid(o) * np.tanh(c), c


def lstm_loss(parameters, x, labels):
    carry = (np.zeros((x.shape[0], 128)),) * 2
    for t in range(x.shape[1]):
        carry = cell(parameters, carry, x[:, t])
    return cross_entropy(apply(parameters["head"], carry[0]), labels)


def scanned_lstm_loss(parameters, x, labels):
    carry = (np.zeros((x.shape[0], 128)),) * 2
    carry, _ = jax.lax.scan(lambda carry, now: (cell(parameters, carry, now), None), carry, x.swapaxes(0, 1))
    return cross_entropy(apply(parameters["head"], carry[0]), labels)


def lstm_layers():
    generator = numpy.random.default_rng(0)
    layer = lambda: {"input": linear(generator, 256, 1024), "state": linear(generator, 256, 1024)}
    return jax.device_put({"layers": [layer(), layer()], "head": linear(generator, 256, 10)})


def lstm_layers_loss(parameters, x, labels):
    x = x.swapaxes(0, 1)
    for layer in parameters["layers"]:
        carry = (np.zeros((x.shape[1], 256)),) * 2
        last, x = jax.lax.scan(lambda carry, now: (lambda made: (made, made[0]))(cell(layer, carry, now)), carry, x)
    return cross_entropy(apply(parameters["head"], last[0]), labels)


def gpt(length=128):
    generator = numpy.random.default_rng(0)
    norm = lambda: (numpy.ones(128, numpy.float32), numpy.zeros(128, numpy.float32))
    table = lambda rows: generator.standard_normal((rows, 128), dtype=numpy.float32)
    block = lambda: {"before": norm(), "after": norm(), "qkv": linear(generator, 128, 384),
                     "out": linear(generator, 128, 128), "up": linear(generator, 128, 512),
                     "down": linear(generator, 512, 128)}
    return jax.device_put({"word": table(65), "place": table(length), "blocks": [block() for _ in range(4)],
                           "last": norm(), "head": linear(generator, 128, 65, bias=False)})


def gpt_loss(parameters, ids, following):
    def norm(weights, x):
        return jax.nn.standardize(x, axis=-1, epsilon=1e-5) * weights[0] + weights[1]

    x = parameters["word"][ids] + parameters["place"][np.arange(ids.shape[1])]
    for block in parameters["blocks"]:
        parts = np.split(apply(block["qkv"], norm(block["before"], x)), 3, axis=-1)
        q, k, v = (part.reshape(*ids.shape, 4, 32) for part in parts)
        x = x + apply(block["out"], jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape))
        x = x + apply(block["down"], jax.nn.gelu(apply(block["up"], norm(block["after"], x)), approximate=True))
    logits = apply(parameters["head"], norm(parameters["last"], x))
    return cross_entropy(logits.reshape(-1, 65), following.reshape(-1))


def resnet():
    """Weights of convolutions as [rows, columns, channels, outputs], of images as [batch, rows, columns, channels]."""
    seeds = iter(range(1, 100))

    def convolution(channels, outputs, window):
        weight = data((window, window, channels, outputs), next(seeds)) * (2 / (window * window * channels)) ** 0.5
        return {"w": weight.astype(numpy.float32), "scale": numpy.ones(outputs, numpy.float32),
                "shift": numpy.zeros(outputs, numpy.float32)}

    blocks, channels = [], 64
    for outputs in (64, 128, 256, 512):
        for _ in range(2):
            block = {"one": convolution(channels, outputs, 3), "two": convolution(outputs, outputs, 3)}
            if channels != outputs:
                block["shortcut"] = convolution(channels, outputs, 1)
            blocks.append(block)
            channels = outputs
    return jax.device_put({"stem": convolution(3, 64, 3), "blocks": blocks, "head": linear(numpy.random.default_rng(0), 512, 10)})


def resnet_loss(parameters, images, labels):
    def normalised(layer, x, stride=1):
        window = layer["w"].shape[0]
        y = jax.lax.conv_general_dilated(x, layer["w"], (stride, stride), [(window // 2, window // 2)] * 2,
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.nn.standardize(y, axis=(0, 1, 2), epsilon=1e-5) * layer["scale"] + layer["shift"]

    x = jax.nn.relu(normalised(parameters["stem"], images.transpose(0, 2, 3, 1)))
    for block in parameters["blocks"]:
        stride = 2 if "shortcut" in block else 1
        y = normalised(block["two"], jax.nn.relu(normalised(block["one"], x, stride)))
        x = jax.nn.relu(y + (normalised(block["shortcut"], x, 2) if "shortcut" in block else x))
    return cross_entropy(apply(parameters["head"], x.mean((1, 2))), labels)


STEPS = {
    "mlp_step": (mlp, [mlp_loss]),
    "deep_step": (lambda: chain([64] * 21), [lambda layers, x, target: np.mean((chain_forward(layers, x) - target) ** 2)]),
    "lstm_step": (lstm, [lstm_loss, scanned_lstm_loss]),
    "lstm_layers_step": (lstm_layers, [lstm_layers_loss]),
    "gpt_step": (gpt, [gpt_loss]),
    "gpt_long_step": (lambda: gpt(512), [gpt_loss]),
    "resnet_step": (resnet, [resnet_loss]),
    "resnet_fast_step": (resnet, [resnet_loss]),
}


def adam(parameters, m, v, count, gradients, decay):
    """The new values of a whole tree of parameters and their moments."""
    tree_map = jax.tree_util.tree_map
    m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
    v = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradients)
    a = 1e-3 / (1 - 0.9 ** count.astype(np.float32))
    b = 1 - 0.999 ** count.astype(np.float32)
    update = lambda p, m, v: p * (1 - 1e-3 * decay) - a * m / (np.sqrt(v / b) + 1e-8)
    return tree_map(update, parameters, m, v), m, v


def sgd(parameters, m, v, count, gradients, decay):
    """The same with momentum; v has no use."""
    m = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, m, gradients)
    return jax.tree_util.tree_map(lambda p, m: p - 1e-2 * m, parameters, m), m, v


def repeated(parameters, gradients_of, inputs, decay=0, update=adam):
    """A function that updates once, and one that waits for it. The inputs are arguments, lest they be folded."""
    zeros = lambda: jax.device_put(jax.tree_util.tree_map(numpy.zeros_like, parameters))
    box = [parameters, zeros(), zeros(), jax.device_put(numpy.int32(0)), None]

    def step(parameters, m, v, count, *inputs):
        loss, gradients = gradients_of(parameters, *inputs)
        count = count + 1
        return [*update(parameters, m, v, count, gradients, decay), count, loss]

    run = jax.jit(step, donate_argnums=(0, 1, 2, 3))

    def call():
        box[:] = run(*box[:4], *inputs)

    return call, lambda: jax.block_until_ready(box)


def steps(row):
    if row.startswith("adam_"):
        count = int(row[5:])
        matrices = lambda first: jax.device_put([data((64, 64), first + i) for i in range(count)])
        return [repeated(matrices(0), lambda parameters, *gradients: (0, list(gradients)), matrices(count))]
    make, losses = STEPS[row]
    inputs = [jax.device_put(array) for array in step_inputs(row)]
    update = sgd if row.startswith("resnet_") else adam
    return [repeated(make(), jax.value_and_grad(loss_of), inputs, 1e-2 if row.startswith("gpt_") else 0, update)
            for loss_of in losses]
