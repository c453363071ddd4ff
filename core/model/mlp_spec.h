#pragma once

#include <medley/model/model_spec.h>

namespace medley {

// medley's own MLP, for tasks whose plugin brings no model: the numbers of a row in, numbers or classes out.
inline constexpr ModelSpec kMlpSpec{
    .name = "mlp",
    .summary = "a multilayer perceptron over the numbers of a row",
    .fields = {IntegerField("inputs", 24, 1, 1 << 20, "Numbers of a row that it is given"),
               IntegerField("outputs", 2, 1, 1 << 16, "Numbers of a row that it gives"),
               IntegerField("classes", 2, 2, 1 << 16, "Classes"),
               IntegerField("width", 64, 1, 65536, "Width of a layer"),
               IntegerField("layers", 2, 1, 1000, "Layers")},
    .inputs = {{.name = "numbers", .dimensions = {"rows", "inputs"}}},
    .outputs = {{.name = "values", .dimensions = {"rows", "outputs"}},
                {.name = "logits", .dimensions = {"rows", "classes"}}}};

}  // namespace medley
