#include <medley/text/tokenizer.h>

namespace medley {

Tokenizer::~Tokenizer() = default;

}  // namespace medley
