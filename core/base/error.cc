#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {

Error::Error(const std::string& message, ExitCode code)
    : std::runtime_error(PrintableLines(message)), code_(code) {}
Error::~Error() = default;

InputError::InputError(const std::string& message) : Error(message, ExitCode::kBadInput) {}
InputError::~InputError() = default;

NotFiniteError::~NotFiniteError() = default;

}  // namespace medley
