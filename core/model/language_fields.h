#pragma once

#include <string>

#include <medley/config/option_value.h>
#include <medley/model/blocks/language_config.h>
#include <medley/model/model_config.h>

namespace medley {

// The fields of a group that describes a Language, as kPretrainedFields names them. How attention is computed
// is none of them.
LanguageConfig LanguageOf(const ModelConfig& config, const std::string& group);
OptionValues FieldsOf(const LanguageConfig& language);

}  // namespace medley
