#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace medley {

// What a value on the command line may be, as far as a shell's completion is to know it.
//   task, model, gpu: names; run: a run's directory, or one on the way there, which ends with "/";
//   key: KEY=VALUE of a run config.
inline constexpr std::string_view kCompletedKinds[] = {"task", "model", "gpu", "run", "key"};

// The kind of the option or argument that a verb declares under this name; "file" where it is none of these.
std::string_view CompletedKind(std::string_view name);

// What a word of this kind may become; behind the name of a task or model stand a tab and what it is. Opens
// no plugin; what cannot be read is left out.
std::vector<std::string> CompletedValues(std::string_view kind, const std::string& word);

}  // namespace medley
