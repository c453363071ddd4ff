#pragma once

#include <stdexcept>
#include <string>

namespace medley {

// How a command ends. A script can tell what happened from the number alone.
enum class ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kBadInput = 2,
  kSomethingDropped = 3,
  kPeerFailed = 4,
  kDoesNotFit = 5,
  kInterrupted = 130,
};

// The one exception of medley. The message says what failed, what was expected and what to do. It may quote
// strangers (a plugin, a file name), so it is made printable; what is quoted and may hold a line end is to be
// Printable.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitCode code = ExitCode::kFailed);
  ~Error() override;  // out of line: one type_info for the command, libmedley and every plugin

  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// What the user gave cannot be used: a file, a key, a value, an argument.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message);
  ~InputError() override;
};

// A loss or a gradient is NaN or infinite. Nothing was updated.
class NotFiniteError : public Error {
 public:
  using Error::Error;
  ~NotFiniteError() override;
};

}  // namespace medley
