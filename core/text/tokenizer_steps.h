#pragma once

#include <medley/text/json_value.h>
#include <medley/text/tokenizer_json.h>

namespace medley {

// The parts of a tokenizer.json around its model: what is done to a text first, and what is left to do with
// tokens. Fills `nfc` and `steps`; what medley does not do is an error.
void ReadTokenizerSteps(const JsonValue& root, TokenizerJson& tokenizer);

}  // namespace medley
