// expect: FormId
//
// Compiles as it stands; with one of the names defined, a form is taken for a task or a task for a form.
#include <map>
#include <string>

#include <medley/curriculum/form_table.h>
#include <medley/curriculum/mixer.h>

namespace medley {

void Use(const FormTable& forms, Mixer& mixer, const std::string& task, const FormId& form) {
  std::map<FormId, int> by_form{{form, 1}};
#if defined(TASK_AS_FORM)
  forms.At(task);
#elif defined(FORM_AS_TASK)
  forms.Own(form);
#elif defined(FORM_AS_TASK_OF_THE_MIXER)
  mixer.SetSize(form, {});
#elif defined(TASK_AS_KEY)
  by_form.count(task);
#elif defined(TASK_COMPARED)
  by_form.clear(), by_form[form] = form == task;
#elif defined(FORM_ASSIGNED)
  std::string name;
  name = form;
#elif defined(LITERAL_AS_FORM)
  forms.At("one");
#else
  forms.At(form);
  forms.Own(task);
  mixer.SetSize(task, {});
#endif
}

}  // namespace medley
