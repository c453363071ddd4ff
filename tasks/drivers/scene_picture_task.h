#pragma once

#include <optional>
#include <string_view>

#include <medley/task/drivers/picture_task.h>

#include "tasks/world/render.h"

namespace medley::tasks {

// A row of a picture task: what the model sees and what it shall draw.
struct PictureExample {
  world::Scene input;
  world::Scene target;
  std::optional<std::int64_t> prompt;  // which text asks for it; drawn where left open
};

constexpr TaskSpec ScenePictureSpec(std::string_view name, std::string_view summary,
                                    const TextList& prompts) {
  return PictureSpec(
      name, summary, prompts,
      {.control = true,
       .options = {
           {.name = "objects",
            .value = 0,
            .low = 0,
            .high = 100,
            .summary = "how much a pixel of agent or gold counts there, where it stays, too; others: 1"}}});
}

// A scene of the game that is asked for in words, beside the control pass.
class ScenePictureTask : public PictureTask {
 protected:
  // What judging must know of all rows.
  struct Judging {
    bool judge_what_stays = false;
    double zoom = 1;
  };
  ScenePictureTask(const TaskContext& context, const TaskSpec& spec, const TextList& prompts,
                   const Judging& judging = {false, 1});

 private:
  // Row `row` of the stream, a function of the random numbers; called on data threads.
  virtual PictureExample DrawScene(std::int64_t row, RowRandom& random) const = 0;
  Prompt Draw(Row& row, PictureBytes input, PictureBytes target) const final;
  at::Tensor Region(const at::Tensor& target, const at::Tensor& input) const final;
  void Refine(PictureExam& exam) const final;

  double objects_;
  Judging judging_;
};

}  // namespace medley::tasks
