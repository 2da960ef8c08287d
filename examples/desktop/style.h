/* How the window looks. */
#ifndef STYLE_H
#define STYLE_H

/* Adds the style sheet to the display. Colours come from the theme, so that a dark one works. */
void style_load(void);

#endif
