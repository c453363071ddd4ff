#include "tasks/drivers/scene_question_task.h"

#include "tasks/drivers/pictures.h"

namespace medley::tasks {

SceneQuestionTask::SceneQuestionTask(const TaskContext& context, const TaskSpec& spec,
                                     std::span<const TextList> lists, std::span<const Question> questions)
    : QuestionTask(context, spec, lists, questions) {
  ImageSize(context);
}

QuestionLabels SceneQuestionTask::Draw(Row& row, PictureBytes picture) const {
  const QuestionExample example = DrawScene(row.number, row.random);
  RenderScene(example.scene, picture);
  return {example.labels, example.unasked};
}

}  // namespace medley::tasks
