#include <medley/model/model_context.h>

#include <medley/base/error.h>

namespace medley {

const Tokenizer& ModelContext::tokenizer() const {
  if (tokenizer_ != nullptr) return *tokenizer_;
  throw Error("the model '" + config.kind() +
              "' asks for the tokenizer, which its spec does not declare; add .tokenizer = true to kSpec");
}

}  // namespace medley
