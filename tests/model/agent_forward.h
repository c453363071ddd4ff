#pragma once

#include <medley/model/agent/agent_shape.h>

namespace medley::test {

// AgentShape::Of, backwards.
inline ForwardShape ForwardOf(const AgentShape& shape) {
  ForwardShape forward{
      .rows = shape.rows,
      .sizes = {{"images", shape.images}, {"text_width", shape.text_width}, {"supervised", shape.supervised}},
      .shared = shape.shared_images,
      .carried = shape.carried,
      .with_graph = shape.with_graph,
      .on_gpu = shape.on_gpu,
      .cached = shape.cached};
  if (shape.losses) forward.outputs.insert("losses");
  if (shape.losses && shape.logits) forward.outputs.insert("logits");
  if (shape.decodes_image) forward.outputs.insert("image");
  if (shape.decodes_drawing) forward.outputs.insert("drawing");
  return forward;
}

}  // namespace medley::test
