"""An app of Streamlit: filters in a sidebar, a table and a chart, and a form in a second tab."""

import pandas as pd
import streamlit as st

ITEMS = ["Chair", "Desk", "Lamp", "Shelf", "Sofa"]

st.set_page_config(page_title="Orders")
if "orders" not in st.session_state:
    st.session_state.orders = pd.DataFrame(
        {
            "item": ["Lamp", "Chair", "Desk", "Shelf"],
            "quantity": [2, 4, 1, 7],
            "price": [35.0, 80.0, 240.0, 60.0],
        }
    )
orders = st.session_state.orders

with st.sidebar:
    st.header("Filters")
    least = st.slider("Minimum quantity", 0, 10, 0)
    items = st.multiselect("Items", ITEMS)
    currency = st.radio("Currency", ["EUR", "USD", "GBP"])

st.title("Orders")
table, form = st.tabs(["Table", "New order"])
with form:
    with st.form("new", clear_on_submit=True):
        item = st.selectbox("Item", ITEMS)
        quantity = st.number_input("Quantity", 1, 100, 1)
        price = st.number_input("Price", 0.0, 1000.0, 10.0)
        gift = st.checkbox("Gift wrap")
        note = st.text_area("Note")
        if st.form_submit_button("Add order"):
            orders.loc[len(orders)] = [item, quantity, price]
            wrapped = ", gift wrapped" if gift else ""
            st.success(f"Added {quantity} × {item}{wrapped}: {note}")
with table:
    shown = orders[orders.quantity >= least]
    if items:
        shown = shown[shown.item.isin(items)]
    st.dataframe(shown)
    total = (shown.quantity * shown.price).sum()
    st.metric("Total", f"{total:.2f} {currency}")
    st.bar_chart(shown, x="item", y="quantity")
