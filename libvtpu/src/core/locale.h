/* SPDX-License-Identifier: MIT */
/*
 * locale.h - numbers in text, the same in every locale.
 */
#ifndef VTPU_SRC_CORE_LOCALE_H
#define VTPU_SRC_CORE_LOCALE_H

#include <locale.h>

/** text_number_locale() - make numbers in this thread use a point; give the result to text_restore_locale() */
locale_t text_number_locale(void);
void text_restore_locale(locale_t old);

#endif /* VTPU_SRC_CORE_LOCALE_H */
