// SPDX-License-Identifier: MIT
/*
 * locale.c - numbers in text, the same in every locale.
 */
#include "core/locale.h"

locale_t text_number_locale(void)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	return c ? uselocale(c) : (locale_t)0;
}

void text_restore_locale(locale_t old)
{
	locale_t c;

	if (!old)
		return;
	c = uselocale(old);
	if (c != LC_GLOBAL_LOCALE && c != old)
		freelocale(c);
}
