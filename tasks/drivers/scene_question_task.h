#pragma once

#include <array>
#include <string_view>

#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/question_task.h>

#include "tasks/world/render.h"

namespace medley::tasks {

// A row: a scene and the right label of every question.
struct QuestionExample {
  world::Scene scene;
  decltype(QuestionLabels::labels) labels{};
  decltype(QuestionLabels::unasked) unasked{};
};

template <std::size_t T, std::size_t Q>
constexpr TaskSpec SceneQuestionSpec(std::string_view name, std::string_view summary,
                                     const std::array<TextList, T>& lists,
                                     const std::array<Question, Q>& questions) {
  return QuestionSpec(name, summary, lists, questions, {.control = true});
}

// Questions about a scene of the game, beside the control pass.
class SceneQuestionTask : public QuestionTask {
 protected:
  SceneQuestionTask(const TaskContext& context, const TaskSpec& spec, std::span<const TextList> lists,
                    std::span<const Question> questions);

 private:
  // Row `row` of the stream, a function of the random numbers; called on data threads.
  virtual QuestionExample DrawScene(std::int64_t row, RowRandom& random) const = 0;
  QuestionLabels Draw(Row& row, PictureBytes picture) const final;
};

}  // namespace medley::tasks
