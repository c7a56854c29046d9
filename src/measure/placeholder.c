typedef int lot_placeholder;
