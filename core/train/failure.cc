#include <medley/train/failure.h>

#include <c10/util/Exception.h>

#include <medley/base/durable_file.h>
#include <medley/base/utf8.h>

namespace medley {

Failure Failure::Of(const std::exception& error, const std::string& where) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) {
    const bool diverged = dynamic_cast<const NotFiniteError*>(ours) != nullptr;
    return {.reason = where + ValidUtf8(ours->what()),
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

}  // namespace medley
