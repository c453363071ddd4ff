#pragma once

#include <string>
#include <vector>

namespace medley::tasks {

// A question of a task: its pass, its prompts' constant and, by label, its replies'.
struct AskedQuestion {
  std::string task, pass, prompts;
  std::vector<std::string> replies;
};

inline const std::vector<AskedQuestion>& AskedQuestions() {
  static const std::vector<AskedQuestion> kAll{
      {"position_qa", "gold_side", "gold_side_prompts", {"gold_left", "gold_right"}},
      {"position_qa", "gold_height", "gold_height_prompts", {"gold_up", "gold_down"}},
      {"position_qa", "agent_side", "agent_side_prompts", {"agent_left", "agent_right"}},
      {"position_qa", "agent_height", "agent_height_prompts", {"agent_up", "agent_down"}},
      {"blue_line_qa", "facing_line", "prompts", {"yes", "no"}},
      {"gold_direction_qa", "facing_gold", "prompts", {"yes", "no"}},
      {"near_gold_qa", "near", "prompts", {"yes", "no"}},
      {"relposition_qa", "will_hit", "hit_prompts", {"yes", "no"}},
      {"relposition_qa", "which_turn", "turn_prompts", {"clock", "anticlock"}},
      {"relposition_qa", "next_move", "move_prompts", {"forward", "clock", "move_anticlock"}},
      {"please_turn_qa", "to_line", "to_line_prompts", {"clock", "anticlock"}},
      {"please_turn_qa", "to_gold", "to_gold_prompts", {"clock", "anticlock"}},
      {"please_turn_qa", "from_line", "from_line_prompts", {"clock", "anticlock"}},
      {"please_turn_qa", "from_gold", "from_gold_prompts", {"clock", "anticlock"}},
  };
  return kAll;
}

// Those that ask them, each once.
inline std::vector<std::string> QuestionTasks() {
  std::vector<std::string> tasks;
  for (const AskedQuestion& question : AskedQuestions()) {
    if (tasks.empty() || tasks.back() != question.task) tasks.push_back(question.task);
  }
  return tasks;
}

}  // namespace medley::tasks
