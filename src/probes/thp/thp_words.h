/* Private to the thp view: what the values of settings do. */
#ifndef MEMWHY_PROBES_THP_WORDS_H
#define MEMWHY_PROBES_THP_WORDS_H

/* By the setting's path below transparent_hugepage/; NULL: nothing to say. */
const char *thp_setting_meaning(const char *setting, const char *value);

#endif
