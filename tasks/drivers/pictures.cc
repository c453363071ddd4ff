#include "tasks/drivers/pictures.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>

#include <utility>

namespace medley::tasks {

int ImageSize(const TaskContext& context) {
  if (context.image().size < world::kSmallestImage) {
    throw InputError("images of " + std::to_string(context.image().size) +
                     " pixels a side cannot show the game: below " + std::to_string(world::kSmallestImage) +
                     " its gold has no pixel. Choose a larger image size in the model config");
  }
  return static_cast<int>(context.image().size);
}

void RenderScene(const world::Scene& scene, PictureBytes picture) {
  world::Render({&scene, 1}, static_cast<int>(picture.size()), picture.bytes());
}

at::Tensor RenderScenes(std::span<const world::Scene> scenes, int size) {
  at::Tensor pictures = at::empty({static_cast<std::int64_t>(scenes.size()), 3, size, size}, at::kByte);
  world::Render(scenes, size,
                {pictures.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(pictures.numel())});
  return pictures;
}

at::Tensor Coloured(const at::Tensor& pictures) {
  return pictures.ne(pictures.narrow(1, 0, 1)).any(1, /*keepdim=*/true);
}

void AddFound(const Expected& expected, const Estimate& drawn, const at::Tensor& zoom, Outcomes& outcomes) {
  const Found found = ShareFound(drawn, expected, zoom);
  AppendRows(outcomes.Share("found"), found.changed);
  AppendRows(outcomes.Share("found_kept"), found.kept);
  AppendRows(outcomes.Share("found_by_input"), ShareFound(expected.input, expected, zoom).changed);
}

std::function<void(const JudgedPictures&, Outcomes&)> FoundFigures(
    std::function<double(std::int64_t row)> zoom, bool input_is_an_answer) {
  return [zoom = std::move(zoom), input_is_an_answer](const JudgedPictures& judged, Outcomes& outcomes) {
    at::Tensor zooms = at::empty({judged.rows.count}, at::kDouble);
    for (std::int64_t i = 0; i < judged.rows.count; ++i)
      zooms.mutable_data_ptr<double>()[i] = zoom(judged.rows.begin + i);
    zooms = ToDevice(zooms, judged.target.device());
    const Estimate drawn = EstimateObjects(judged.output);
    Expected expected{
        .target = EstimateObjects(judged.target),
        .input = EstimateObjects(input_is_an_answer ? judged.input : at::ones_like(judged.input))};
    if (input_is_an_answer)
      AddFound(expected, drawn, zooms, outcomes);
    else
      AppendRows(outcomes.Share("found"), ShareFound(drawn, expected, zooms).changed);
    AppendRows(outcomes.Share("found_by_mean"),
               ShareFound(EstimateObjects(judged.mean), expected, zooms).changed);
  };
}

}  // namespace medley::tasks
