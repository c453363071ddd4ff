#include <medley/train/failure.h>

#include <c10/util/Exception.h>

#include <nlohmann/json.hpp>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/utf8.h>

namespace medley {

Failure Failure::Of(const std::exception& error, const std::string& where) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) {
    const bool diverged = dynamic_cast<const NotFiniteError*>(ours) != nullptr;
    return {.reason = where + ours->what(),
            .code = ours->code(),
            .diverged = diverged,
            .of_the_machine = dynamic_cast<const FileError*>(ours) != nullptr};
  }
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (torch == nullptr) return {where + ValidUtf8(error.what())};
  const bool out_of_memory = dynamic_cast<const c10::OutOfMemoryError*>(torch) != nullptr;
  return {where + ValidUtf8(torch->what_without_backtrace()),
          out_of_memory ? ExitCode::kDoesNotFit : ExitCode::kFailed, out_of_memory};
}

nlohmann::json ToJson(const Failure& failure) {
  return {{"reason", failure.reason},
          {"code", static_cast<int>(failure.code)},
          {"out_of_memory", failure.out_of_memory},
          {"diverged", failure.diverged},
          {"task", failure.task},
          {"of_the_machine", failure.of_the_machine}};
}

Failure FailureFrom(const nlohmann::json& json) {
  return {.reason = json.at("reason").get<std::string>(),
          .code = static_cast<ExitCode>(json.at("code").get<int>()),
          .out_of_memory = json.at("out_of_memory").get<bool>(),
          .diverged = json.at("diverged").get<bool>(),
          .task = json.at("task").get<std::string>(),
          .of_the_machine = json.at("of_the_machine").get<bool>()};
}

}  // namespace medley
